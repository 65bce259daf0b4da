/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a graph from JSON. Every key must be known, and every value of its type: a word that is
 * mistyped would else be a default, unseen. A plan in the file is left alone, since a graph is
 * planned anew. */
#include "config.h"

#include <jansson.h>
#include <string.h>

#include "graph/files.h"
#include "graph/json_line.h"
#include "src/util/util.h"

enum type {
    TYPE_NUMBER,   /* uint64_t */
    TYPE_NODE,     /* uint32_t, an index of nodes */
    TYPE_BLOCK,    /* uint32_t, an index of blocks */
    TYPE_FLAG,     /* bool */
    TYPE_NAME,     /* const char *, which the document owns */
    TYPE_KIND,     /* enum starpool_graph_node_kind */
    TYPE_LOCATION, /* struct starpool_location */
    TYPE_SECTION,  /* json_t *, an array */
    TYPE_PLAN,     /* nothing, an object */
};

struct field {
    const char *key;
    enum type type;
    size_t offset; /* in what is filled */
    bool is_needed;
};

/* The document. */
struct top {
    uint64_t version, capacity;
    const char *name;
    bool is_timed;
    json_t *nodes, *edges, *uses, *blocks;
};

/* An element; each section fills its own members. */
struct element {
    enum starpool_graph_node_kind kind;
    const char *name;
    uint32_t from, to, block, node, alloc, free;
    uint64_t size, alignment, lower, upper, address;
    struct starpool_location location;
    bool is_input, is_output;
};

#define TOP(member)     offsetof(struct top, member)
#define ELEMENT(member) offsetof(struct element, member)

static const struct field top_fields[] = {
    {"starpool_graph", TYPE_NUMBER, TOP(version), true},
    {"name", TYPE_NAME, TOP(name), false},
    {"is_timed", TYPE_FLAG, TOP(is_timed), false},
    {"capacity", TYPE_NUMBER, TOP(capacity), false},
    {"nodes", TYPE_SECTION, TOP(nodes), false},
    {"edges", TYPE_SECTION, TOP(edges), false},
    {"blocks", TYPE_SECTION, TOP(blocks), false},
    {"uses", TYPE_SECTION, TOP(uses), false},
    {"plan", TYPE_PLAN, 0, false},
};
static const struct field node_fields[] = {
    {"kind", TYPE_KIND, ELEMENT(kind), true},
    {"name", TYPE_NAME, ELEMENT(name), false},
};
static const struct field edge_fields[] = {
    {"from", TYPE_NODE, ELEMENT(from), true},
    {"to", TYPE_NODE, ELEMENT(to), true},
};
static const struct field use_fields[] = {
    {"block", TYPE_BLOCK, ELEMENT(block), true},
    {"node", TYPE_NODE, ELEMENT(node), true},
};
static const struct field block_fields[] = {
    {"size", TYPE_NUMBER, ELEMENT(size), true},
    {"alignment", TYPE_NUMBER, ELEMENT(alignment), false},
    {"location", TYPE_LOCATION, ELEMENT(location), false},
    {"name", TYPE_NAME, ELEMENT(name), false},
    {"alloc", TYPE_NODE, ELEMENT(alloc), false},
    {"free", TYPE_NODE, ELEMENT(free), false},
    {"lower", TYPE_NUMBER, ELEMENT(lower), false},
    {"upper", TYPE_NUMBER, ELEMENT(upper), false},
    {"address", TYPE_NUMBER, ELEMENT(address), false},
    {"is_input", TYPE_FLAG, ELEMENT(is_input), false},
    {"is_output", TYPE_FLAG, ELEMENT(is_output), false},
};

#undef TOP
#undef ELEMENT

struct reader {
    const char *text;
    size_t size;
    struct starpool_graph *graph;
    const char *section; /* NULL: the document itself */
    uint32_t index;      /* in the section */
    struct sp_graph_error *error;
};

/* What one section is read with. */
struct section {
    const char *name;
    enum sp_graph_part part;
    size_t array; /* where in struct top it is */
    const struct field *fields;
    size_t n_fields;
    bool (*add)(struct starpool_graph *graph, const struct element *element);
};

/* ---- values ----------------------------------------------------------------------------- */

static enum starpool_status bad(const struct reader *reader, const char *key,
                                const char *format, const char *word)
    __attribute__((format(printf, 3, 0)));

/* `format` has one %s, for the key, and perhaps another, for a word of the file. */
static enum starpool_status bad(const struct reader *reader, const char *key,
                                const char *format, const char *word)
{
    unsigned line =
        sp_json_line(reader->text, reader->size, reader->section, reader->index, key);
    char plain_key[64], plain_word[64], message[sizeof(reader->error->text)];

    snprintf(message, sizeof(message), format, sp_graph_plain(key, strlen(key), plain_key),
             sp_graph_plain(word, strlen(word), plain_word));
    return sp_graph_fail(reader->error, line, "%s", message);
}

static enum starpool_status read_number(const struct reader *reader, const char *key,
                                        const json_t *value, uint64_t most,
                                        uint64_t *number_out)
{
    if (!json_is_integer(value))
        return bad(reader, key, "'%s' is no whole number", "");
    if (json_integer_value(value) < 0)
        return bad(reader, key, "'%s' is negative", "");
    if ((uint64_t)json_integer_value(value) > most)
        return bad(reader, key, "'%s' is no index of what the file has", "");
    *number_out = (uint64_t)json_integer_value(value);
    return STARPOOL_OK;
}

static enum starpool_status read_index(const struct reader *reader, const char *key,
                                       const json_t *value, uint32_t n, uint32_t *index_out)
{
    uint64_t number = 0;
    enum starpool_status status;

    if (n == 0)
        return bad(reader, key, "'%s' is an index of what the file has none of", "");
    status = read_number(reader, key, value, n - 1, &number);
    if (status == STARPOOL_OK)
        *index_out = (uint32_t)number;
    return status;
}

static enum starpool_status read_word(const struct reader *reader, const char *key,
                                      const json_t *value, enum type type, void *target)
{
    const char *word = json_string_value(value);

    if (word == NULL)
        return bad(reader, key, "'%s' is no string", "");
    if (type == TYPE_NAME)
        *(const char **)target = word;
    else if (type == TYPE_KIND && !sp_node_kind_parse(word, target))
        return bad(reader, key, "'%s': there is no kind '%s'", word);
    else if (type == TYPE_LOCATION && !sp_location_parse(word, target))
        return bad(reader, key, "'%s': there is no location '%s'", word);
    return STARPOOL_OK;
}

static enum starpool_status read_value(const struct reader *reader, const struct field *field,
                                       json_t *value, void *target)
{
    switch (field->type) {
    case TYPE_NUMBER:
        return read_number(reader, field->key, value, UINT64_MAX, target);
    case TYPE_NODE:
        return read_index(reader, field->key, value, reader->graph->n_nodes, target);
    case TYPE_BLOCK:
        return read_index(reader, field->key, value, reader->graph->n_blocks, target);
    case TYPE_FLAG:
        if (!json_is_boolean(value))
            return bad(reader, field->key, "'%s' is neither true nor false", "");
        *(bool *)target = json_is_true(value);
        return STARPOOL_OK;
    case TYPE_SECTION:
        if (!json_is_array(value))
            return bad(reader, field->key, "'%s' is no array", "");
        *(json_t **)target = value;
        return STARPOOL_OK;
    case TYPE_PLAN:
        return json_is_object(value) ? STARPOOL_OK
                                     : bad(reader, field->key, "'%s' is no object", "");
    case TYPE_NAME:
    case TYPE_KIND:
    case TYPE_LOCATION:
        break;
    }
    return read_word(reader, field->key, value, field->type, target);
}

/* ---- objects ---------------------------------------------------------------------------- */

static enum starpool_status check_keys(const struct reader *reader, json_t *object,
                                       const struct field *fields, size_t n_fields)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        size_t i = 0;

        while (i < n_fields && strcmp(fields[i].key, key) != 0)
            i++;
        if (i == n_fields)
            return bad(reader, key, "there is no key '%s' here", "");
    }
    return STARPOOL_OK;
}

static enum starpool_status read_object(const struct reader *reader, json_t *object,
                                        const struct field *fields, size_t n_fields,
                                        void *target)
{
    enum starpool_status status;

    if (!json_is_object(object))
        return bad(reader, "",
                   reader->section == NULL ? "the document is no object%s"
                                           : "an element is no object%s",
                   "");
    status = check_keys(reader, object, fields, n_fields);
    for (size_t i = 0; i < n_fields && status == STARPOOL_OK; i++) {
        json_t *value = json_object_get(object, fields[i].key);

        if (value != NULL)
            status = read_value(reader, &fields[i], value, (char *)target + fields[i].offset);
        else if (fields[i].is_needed)
            status = bad(reader, fields[i].key, "'%s' is missing", "");
    }
    return status;
}

static bool add_node(struct starpool_graph *graph, const struct element *element)
{
    return sp_graph_add_node(graph, element->kind, element->name) != SP_NO_INDEX;
}

static bool add_edge(struct starpool_graph *graph, const struct element *element)
{
    return sp_graph_add_edge(graph, element->from, element->to);
}

static bool add_use(struct starpool_graph *graph, const struct element *element)
{
    return sp_graph_add_use(graph, element->block, element->node);
}

static bool add_block(struct starpool_graph *graph, const struct element *element)
{
    struct sp_graph_block block = {
        .size = element->size,
        .alignment = element->alignment,
        .location = element->location,
        .name = (char *)element->name, /* It is copied. */
        .alloc = element->alloc,
        .free = element->free,
        .lower = element->lower,
        .upper = element->upper,
        .address = element->address,
        .is_input = element->is_input,
        .is_output = element->is_output,
    };

    return sp_graph_add_block(graph, &block) != SP_NO_INDEX;
}

/* Each names only what those before it hold. */
static const struct section sections[] = {
    {"nodes", SP_GRAPH_PART_NODE, offsetof(struct top, nodes), node_fields,
     SP_ARRAY_SIZE(node_fields), add_node},
    {"edges", SP_GRAPH_PART_EDGE, offsetof(struct top, edges), edge_fields,
     SP_ARRAY_SIZE(edge_fields), add_edge},
    {"blocks", SP_GRAPH_PART_BLOCK, offsetof(struct top, blocks), block_fields,
     SP_ARRAY_SIZE(block_fields), add_block},
    {"uses", SP_GRAPH_PART_USE, offsetof(struct top, uses), use_fields,
     SP_ARRAY_SIZE(use_fields), add_use},
};

static enum starpool_status read_section(struct reader *reader, const struct section *section,
                                         json_t *array)
{
    reader->section = section->name;
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct element element = {
            .alignment = SP_JSON_ALIGNMENT, .alloc = SP_NO_INDEX, .free = SP_NO_INDEX};
        enum starpool_status status;

        reader->index = (uint32_t)i;
        status = read_object(reader, json_array_get(array, i), section->fields,
                             section->n_fields, &element);
        if (status != STARPOOL_OK)
            return status;
        if (!section->add(reader->graph, &element))
            return STARPOOL_ENOMEM;
    }
    reader->section = NULL;
    return STARPOOL_OK;
}

/* ---- the document ----------------------------------------------------------------------- */

/* Where a part that sp_graph_check() found wrong stands. */
static unsigned line_of_part(const struct reader *reader)
{
    for (size_t i = 0; i < SP_ARRAY_SIZE(sections); i++) {
        if (sections[i].part == reader->error->part)
            return sp_json_line(reader->text, reader->size, sections[i].name,
                                reader->error->index, NULL);
    }
    return 0;
}

static enum starpool_status read_top(struct reader *reader, json_t *document, struct top *top)
{
    enum starpool_status status =
        read_object(reader, document, top_fields, SP_ARRAY_SIZE(top_fields), top);

    if (status == STARPOOL_OK && top->version != SP_JSON_VERSION)
        status = bad(reader, "starpool_graph", "'%s': the file is of another version", "");
    if (status != STARPOOL_OK)
        return status;
    if (top->name != NULL && (reader->graph->name = strdup(top->name)) == NULL)
        return STARPOOL_ENOMEM;
    reader->graph->is_timed = top->is_timed;
    reader->graph->capacity = top->capacity;
    return STARPOOL_OK;
}

static enum starpool_status read_document(struct reader *reader, json_t *document)
{
    struct top top = {.version = 0};
    enum starpool_status status = read_top(reader, document, &top);

    for (size_t i = 0; i < SP_ARRAY_SIZE(sections) && status == STARPOOL_OK; i++)
        status =
            read_section(reader, &sections[i], *(json_t **)((char *)&top + sections[i].array));
    if (status != STARPOOL_OK)
        return status;
    status = sp_graph_check(reader->graph, reader->error);
    if (status == STARPOOL_EINVAL)
        reader->error->line = line_of_part(reader);
    return status;
}

enum starpool_status sp_graph_read_json(const char *text, size_t size,
                                        struct starpool_graph **graph_out,
                                        struct sp_graph_error *error)
{
    struct reader reader = {.text = text, .size = size, .error = error};
    json_error_t parser_error;
    json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &parser_error);
    enum starpool_status status;
    char plain[64];

    if (document == NULL && json_error_code(&parser_error) == json_error_out_of_memory) {
        sp_graph_fail(error, 0, "no memory");
        return STARPOOL_ENOMEM;
    }
    if (document == NULL)
        return sp_graph_fail(
            error, parser_error.line > 0 ? (unsigned)parser_error.line : 0, "%s",
            sp_graph_plain(parser_error.text, strlen(parser_error.text), plain));
    reader.graph = sp_graph_create(NULL);
    status = reader.graph == NULL ? STARPOOL_ENOMEM : read_document(&reader, document);
    json_decref(document);
    if (status == STARPOOL_OK) {
        *graph_out = reader.graph;
        return status;
    }
    if (status == STARPOOL_ENOMEM)
        sp_graph_fail(error, 0, "no memory");
    sp_graph_destroy(reader.graph);
    return status;
}
