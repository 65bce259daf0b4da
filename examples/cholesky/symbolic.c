/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Symbolic analysis: order, supernodes, the rows of each front. The tree below it is in tree.c;
 * what the numbers do is numeric.c's business.
 */
#include "symbolic.h"
#include "tree.h"

#include <suitesparse/amd.h>

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

/* Beyond this the totals could no longer be added up safely; no machine comes close. */
#define MAX_TOTAL (UINT64_C(1) << 62)

/* Supernodes under construction, with what merging them has cost. */
struct merger {
    int *parent;     /* [n] the elimination tree */
    int *counts;     /* [n] entries of each column of the factor */
    uint64_t *zeros; /* [n_supernodes] stored entries that are zero in the factor */
    int *owner;      /* [n] supernode of each column */
};

size_t supernode_panel_bytes(const struct supernode *supernode)
{
    return (size_t)supernode->n_rows * (size_t)supernode->n_columns * sizeof(double);
}

size_t supernode_update_bytes(const struct supernode *supernode)
{
    size_t n_rows = (size_t)(supernode->n_rows - supernode->n_columns);

    return n_rows * n_rows * sizeof(double);
}

/* The entries of a supernode's columns on and below the diagonal. */
static uint64_t trapezoid(uint64_t n_columns, uint64_t n_rows)
{
    return n_columns * n_rows - n_columns * (n_columns - 1) / 2;
}

/*
 * A few wide supernodes are faster than many narrow ones, so zeros are let in where they are
 * few. The limits are the defaults of CHOLMOD (its user guide, "nrelax" and "zrelax").
 */
static bool is_worth_merging(uint64_t n_columns, uint64_t zeros, uint64_t entries)
{
    double share = (double)zeros / (double)entries;

    return n_columns <= 4 || (n_columns <= 16 && share < 0.8) ||
           (n_columns <= 48 && share < 0.1) || share < 0.05;
}

/* Merge the last two supernodes if the former is a child of the latter and it pays. */
static bool merge_last(struct symbolic *symbolic, struct merger *merger)
{
    int last = symbolic->n_supernodes - 1;
    struct supernode *child = &symbolic->supernodes[last - 1];
    struct supernode *parent = &symbolic->supernodes[last];
    int n_columns = child->n_columns + parent->n_columns;
    int n_rows = child->n_columns + parent->n_rows;
    uint64_t entries = trapezoid((uint64_t)n_columns, (uint64_t)n_rows);
    uint64_t parent_column = (uint64_t)merger->parent[parent->first - 1];
    uint64_t zeros;

    if (merger->parent[parent->first - 1] == -1 ||
        parent_column >= (uint64_t)parent->first + (uint64_t)parent->n_columns)
        return false;
    zeros = merger->zeros[last - 1] + merger->zeros[last] + entries -
            trapezoid((uint64_t)child->n_columns, (uint64_t)child->n_rows) -
            trapezoid((uint64_t)parent->n_columns, (uint64_t)parent->n_rows);
    if (!is_worth_merging((uint64_t)n_columns, zeros, entries))
        return false;
    child->n_columns = n_columns;
    child->n_rows = n_rows;
    merger->zeros[last - 1] = zeros;
    symbolic->n_supernodes--;
    return true;
}

/*
 * Columns join the supernode before them while they have exactly its remaining rows; each
 * finished supernode then tries to take in the one before it, and so on.
 */
static void find_supernodes(struct symbolic *symbolic, struct merger *merger)
{
    const int *counts = merger->counts;
    int n = symbolic->matrix.n;
    int first;
    int next;

    for (first = 0; first < n; first = next) {
        next = first + 1;
        while (next < n && merger->parent[next - 1] == next &&
               counts[next - 1] == counts[next] + 1)
            next++;
        symbolic->supernodes[symbolic->n_supernodes] = (struct supernode){
            .first = first,
            .n_columns = next - first,
            .n_rows = counts[first],
        };
        merger->zeros[symbolic->n_supernodes++] = 0;
        while (symbolic->n_supernodes > 1 && merge_last(symbolic, merger))
            continue;
    }
}

/* Link each supernode to its parent, the one that owns its first row beyond its columns. */
static void link_supernodes(struct symbolic *symbolic, const struct merger *merger)
{
    struct supernode *supernode;
    int column;
    int i;

    for (i = 0; i < symbolic->n_supernodes; i++) {
        supernode = &symbolic->supernodes[i];
        supernode->first_child = -1;
        for (column = 0; column < supernode->n_columns; column++)
            merger->owner[supernode->first + column] = i;
    }
    /* Backwards, so that each list of children is ascending. */
    for (i = symbolic->n_supernodes - 1; i >= 0; i--) {
        supernode = &symbolic->supernodes[i];
        column = merger->parent[supernode->first + supernode->n_columns - 1];
        supernode->parent = -1;
        supernode->next_sibling = -1;
        if (column == -1)
            continue;
        supernode->parent = merger->owner[column];
        supernode->next_sibling = symbolic->supernodes[supernode->parent].first_child;
        symbolic->supernodes[supernode->parent].first_child = i;
    }
}

static enum status add_up(struct symbolic *symbolic, const struct merger *merger,
                          struct error *error)
{
    size_t n_rows = 0;
    int i;

    for (i = 0; i < symbolic->matrix.n; i++)
        symbolic->n_factor += (uint64_t)merger->counts[i];
    for (i = 0; i < symbolic->n_supernodes; i++) {
        struct supernode *supernode = &symbolic->supernodes[i];
        size_t panel_bytes = supernode_panel_bytes(supernode);

        supernode->rows_start = n_rows;
        n_rows += (size_t)supernode->n_rows;
        symbolic->n_stored += panel_bytes / sizeof(double);
        symbolic->front_bytes += panel_bytes + supernode_update_bytes(supernode);
        if (symbolic->front_bytes > MAX_TOTAL)
            return error_set(error, STATUS_INPUT,
                             "the fronts of this matrix are too large to count their bytes; "
                             "use a smaller or sparser matrix");
    }
    symbolic->rows = malloc((n_rows + 1) * sizeof(*symbolic->rows));
    symbolic->places = malloc((n_rows + 1) * sizeof(*symbolic->places));
    if (symbolic->rows == NULL || symbolic->places == NULL)
        return error_no_memory(error, "the rows of the fronts");
    return STATUS_OK;
}

static int ascending(const void *left, const void *right)
{
    int a = *(const int *)left;
    int b = *(const int *)right;

    return (a > b) - (a < b);
}

/* Append those rows of a list that lie beyond the supernode's columns and are new to it. */
static int append_rows(int *rows, int count, int end, int *seen_by, int number, const int *list,
                       int n_list)
{
    int i;

    for (i = 0; i < n_list; i++) {
        if (list[i] < end || seen_by[list[i]] == number)
            continue;
        seen_by[list[i]] = number;
        rows[count++] = list[i];
    }
    return count;
}

/* The rows of a front: its columns, what the matrix has below them, and its children's rows.
 * `seen_by` says of each row which supernode took it last. */
static void collect_rows(const struct symbolic *symbolic, int number, int *seen_by)
{
    const struct supernode *supernode = &symbolic->supernodes[number];
    const struct matrix *matrix = &symbolic->matrix;
    int *rows = symbolic->rows + supernode->rows_start;
    int end = supernode->first + supernode->n_columns;
    int count = 0;
    int column;
    int i;

    for (column = supernode->first; column < end; column++)
        rows[count++] = column;
    for (column = supernode->first; column < end; column++)
        count =
            append_rows(rows, count, end, seen_by, number, matrix->rows + matrix->start[column],
                        matrix->start[column + 1] - matrix->start[column]);
    for (i = supernode->first_child; i != -1; i = symbolic->supernodes[i].next_sibling) {
        const struct supernode *child = &symbolic->supernodes[i];

        count = append_rows(rows, count, end, seen_by, number,
                            symbolic->rows + child->rows_start + child->n_columns,
                            child->n_rows - child->n_columns);
    }
    /* The sizes were counted on the tree alone; both ways must agree. */
    assert(count == supernode->n_rows);
    qsort(rows + supernode->n_columns, (size_t)(count - supernode->n_columns), sizeof(*rows),
          ascending);
}

/* Find each row of a child's update in the parent's front; both lists are ascending. */
static void find_places(const struct symbolic *symbolic, const struct supernode *child)
{
    const struct supernode *parent = &symbolic->supernodes[child->parent];
    const int *parent_rows = symbolic->rows + parent->rows_start;
    const int *rows = symbolic->rows + child->rows_start;
    int *places = symbolic->places + child->rows_start;
    int place = 0;
    int i;

    for (i = child->n_columns; i < child->n_rows; i++) {
        while (parent_rows[place] != rows[i])
            place++;
        places[i] = place;
    }
}

static enum status lay_out_fronts(struct symbolic *symbolic, struct merger *merger,
                                  struct error *error)
{
    enum status status = add_up(symbolic, merger, error);
    int i;

    if (status != STATUS_OK)
        return status;
    for (i = 0; i < symbolic->matrix.n; i++)
        merger->owner[i] = -1;
    for (i = 0; i < symbolic->n_supernodes; i++)
        collect_rows(symbolic, i, merger->owner);
    for (i = 0; i < symbolic->n_supernodes; i++) {
        if (symbolic->supernodes[i].parent != -1)
            find_places(symbolic, &symbolic->supernodes[i]);
    }
    return STATUS_OK;
}

/* AMD's order first, then the postorder of its tree, which fills the factor no further. */
static enum status order_columns(const struct matrix *matrix, struct symbolic *symbolic,
                                 struct merger *merger, struct error *error)
{
    size_t n = (size_t)matrix->n;
    int *order = merger->counts;
    struct matrix permuted;
    enum status status;
    size_t i;

    if (amd_order(matrix->n, matrix->start, matrix->rows, symbolic->permutation, NULL, NULL) !=
        AMD_OK)
        return error_no_memory(error, "the AMD order");
    status = matrix_permute(matrix, symbolic->permutation, &permuted, error);
    if (status != STATUS_OK)
        return status;
    status = tree_parents(&permuted, merger->parent, error);
    matrix_fini(&permuted);
    if (status == STATUS_OK)
        status = tree_postorder(matrix->n, merger->parent, order, error);
    if (status != STATUS_OK)
        return status;
    for (i = 0; i < n; i++)
        order[i] = symbolic->permutation[order[i]];
    for (i = 0; i < n; i++)
        symbolic->permutation[i] = order[i];

    status = matrix_permute(matrix, symbolic->permutation, &permuted, error);
    if (status != STATUS_OK)
        return status;
    symbolic->matrix = permuted;
    status = tree_parents(&symbolic->matrix, merger->parent, error);
    if (status == STATUS_OK)
        status = tree_counts(&symbolic->matrix, merger->parent, merger->counts, error);
    return status;
}

enum status symbolic_init(const struct matrix *matrix, struct symbolic *symbolic_out,
                          struct error *error)
{
    size_t n = (size_t)matrix->n;
    struct symbolic symbolic = {
        .permutation = malloc(n * sizeof(int)),
        .supernodes = malloc(n * sizeof(struct supernode)),
    };
    struct merger merger = {
        .parent = malloc(n * sizeof(int)),
        .counts = malloc(n * sizeof(int)),
        .owner = malloc(n * sizeof(int)),
        .zeros = malloc(n * sizeof(uint64_t)),
    };
    enum status status;

    if (symbolic.permutation == NULL || symbolic.supernodes == NULL || merger.parent == NULL ||
        merger.counts == NULL || merger.owner == NULL || merger.zeros == NULL)
        status = error_no_memory(error, "the symbolic analysis");
    else
        status = order_columns(matrix, &symbolic, &merger, error);
    if (status == STATUS_OK) {
        find_supernodes(&symbolic, &merger);
        link_supernodes(&symbolic, &merger);
        status = lay_out_fronts(&symbolic, &merger, error);
    }
    free(merger.parent);
    free(merger.counts);
    free(merger.owner);
    free(merger.zeros);
    if (status == STATUS_OK)
        *symbolic_out = symbolic;
    else
        symbolic_fini(&symbolic);
    return status;
}

void symbolic_fini(struct symbolic *symbolic)
{
    free(symbolic->permutation);
    free(symbolic->supernodes);
    free(symbolic->rows);
    free(symbolic->places);
    matrix_fini(&symbolic->matrix);
    *symbolic = (struct symbolic){0};
}
