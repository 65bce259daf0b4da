/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The elimination tree and what can be counted on it. Everything here walks with loops, not
 * with recursion: the tree of a banded matrix is as deep as the matrix has columns.
 */
#include "tree.h"

#include <stdlib.h>

/* The columns left of the diagonal in each row: the transposed pattern of the matrix. */
struct row_lists {
    int *start;   /* [n + 1] */
    int *columns; /* [entries below the diagonal] */
};

static enum status row_lists_init(const struct matrix *matrix, struct row_lists *lists,
                                  struct error *error)
{
    int n = matrix->n;
    int column;
    int i;

    lists->start = calloc((size_t)n + 2, sizeof(*lists->start));
    lists->columns = malloc(((size_t)matrix->start[n] + 1) * sizeof(*lists->columns));
    if (lists->start == NULL || lists->columns == NULL) {
        free(lists->start);
        free(lists->columns);
        return error_no_memory(error, "the rows of the matrix");
    }
    /* The count of row i stands two places ahead: summing up moves each start one place
     * ahead, and filling the lists moves it the last place. */
    for (column = 0; column < n; column++) {
        for (i = matrix->start[column] + 1; i < matrix->start[column + 1]; i++)
            lists->start[matrix->rows[i] + 2]++;
    }
    for (i = 2; i <= n; i++)
        lists->start[i] += lists->start[i - 1];
    for (column = 0; column < n; column++) {
        for (i = matrix->start[column] + 1; i < matrix->start[column + 1]; i++)
            lists->columns[lists->start[matrix->rows[i] + 1]++] = column;
    }
    return STATUS_OK;
}

enum status tree_parents(const struct matrix *matrix, int *parent_out, struct error *error)
{
    int n = matrix->n;
    int *ancestor = malloc(((size_t)n + 1) * sizeof(*ancestor));
    struct row_lists lists;
    enum status status;
    int column;
    int next;
    int row;
    int i;

    if (ancestor == NULL)
        return error_no_memory(error, "the elimination tree");
    status = row_lists_init(matrix, &lists, error);
    if (status != STATUS_OK)
        goto done;

    for (row = 0; row < n; row++) {
        parent_out[row] = -1;
        ancestor[row] = -1;
        for (i = lists.start[row]; i < lists.start[row + 1]; i++) {
            /* Climb from the column to the root of its subtree, which becomes a child of this
             * row; the path is shortened on the way, so that no step is done twice. */
            for (column = lists.columns[i]; column != -1 && column < row; column = next) {
                next = ancestor[column];
                ancestor[column] = row;
                if (next == -1)
                    parent_out[column] = row;
            }
        }
    }
    free(lists.start);
    free(lists.columns);
done:
    free(ancestor);
    return status;
}

enum status tree_postorder(int n, const int *parent, int *order_out, struct error *error)
{
    int *first_child = malloc(((size_t)n + 1) * sizeof(*first_child));
    int *next_sibling = malloc(((size_t)n + 1) * sizeof(*next_sibling));
    int count = 0;
    int column;
    int root;

    if (first_child == NULL || next_sibling == NULL) {
        free(first_child);
        free(next_sibling);
        return error_no_memory(error, "the postorder");
    }
    for (column = 0; column < n; column++)
        first_child[column] = -1;
    /* Backwards, so that each list of children is ascending. */
    for (column = n - 1; column >= 0; column--) {
        if (parent[column] == -1)
            continue;
        next_sibling[column] = first_child[parent[column]];
        first_child[parent[column]] = column;
    }
    for (root = 0; root < n; root++) {
        if (parent[root] != -1)
            continue;
        column = root;
        while (column != -1) {
            if (first_child[column] != -1) {
                /* Taken off its parent's list, a child is entered once. */
                int child = first_child[column];

                first_child[column] = next_sibling[child];
                column = child;
            } else {
                order_out[count++] = column;
                column = parent[column];
            }
        }
    }
    free(first_child);
    free(next_sibling);
    return STATUS_OK;
}

/* What tree_counts() knows of the columns it has passed, all of them [n]. */
struct skeleton {
    int *first;     /* the first column in the subtree of each column */
    int *max_first; /* the largest `first` seen in each row so far, or -1 */
    int *last_leaf; /* the column where that was, or -1 */
    int *ancestor;  /* a forest of sets for finding the least common ancestor */
};

static int find_root(int *ancestor, int column)
{
    int root = column;
    int next;

    while (ancestor[root] != root)
        root = ancestor[root];
    for (; column != root; column = next) {
        next = ancestor[column];
        ancestor[column] = root;
    }
    return root;
}

/*
 * Each row of the factor is a subtree of the elimination tree, and its leaves say all: a leaf
 * adds one to every column up to the root, the least common ancestor with the leaf before it
 * takes one away again. counts[] collects these differences.
 */
static void count_leaves(const struct matrix *matrix, const int *parent,
                         struct skeleton *skeleton, int *counts)
{
    int column;
    int row;
    int i;

    for (column = 0; column < matrix->n; column++) {
        if (parent[column] != -1)
            counts[parent[column]]--;
        for (i = matrix->start[column] + 1; i < matrix->start[column + 1]; i++) {
            row = matrix->rows[i];
            if (skeleton->first[column] <= skeleton->max_first[row])
                continue;
            counts[column]++;
            if (skeleton->last_leaf[row] != -1)
                counts[find_root(skeleton->ancestor, skeleton->last_leaf[row])]--;
            skeleton->max_first[row] = skeleton->first[column];
            skeleton->last_leaf[row] = column;
        }
        if (parent[column] != -1)
            skeleton->ancestor[column] = parent[column];
    }
}

enum status tree_counts(const struct matrix *matrix, const int *parent, int *counts_out,
                        struct error *error)
{
    int n = matrix->n;
    int *room = malloc((4 * (size_t)n + 1) * sizeof(*room));
    struct skeleton skeleton;
    int column;

    if (room == NULL)
        return error_no_memory(error, "the column counts");
    skeleton = (struct skeleton){room, room + n, room + 2 * (size_t)n, room + 3 * (size_t)n};
    for (column = 0; column < n; column++) {
        skeleton.first[column] = column;
        skeleton.max_first[column] = -1;
        skeleton.last_leaf[column] = -1;
        skeleton.ancestor[column] = column;
    }
    for (column = 0; column < n; column++) {
        /* A column that is still the first of its own subtree is a leaf of the tree. */
        counts_out[column] = skeleton.first[column] == column;
        if (parent[column] != -1 && skeleton.first[parent[column]] > skeleton.first[column])
            skeleton.first[parent[column]] = skeleton.first[column];
    }
    count_leaves(matrix, parent, &skeleton, counts_out);
    for (column = 0; column < n; column++) {
        if (parent[column] != -1)
            counts_out[parent[column]] += counts_out[column];
    }
    free(room);
    return STATUS_OK;
}
