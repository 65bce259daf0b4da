/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Axes: steps of 1, 2 or 5 times a power of ten, about five of them; bytes in the largest unit
 * of which there are two. */
#include "config.h"

#include "graph/svg.h"

#include <inttypes.h>

#include "src/util/util.h"

#define N_STEPS 5

void sp_svg_number(FILE *out, double value)
{
    int64_t tenths = (int64_t)(value * 10 + (value < 0 ? -0.5 : 0.5));
    uint64_t size = (uint64_t)(tenths < 0 ? -tenths : tenths);

    fprintf(out, "%s%" PRIu64, tenths < 0 ? "-" : "", size / 10);
    if (size % 10 != 0)
        fprintf(out, ".%" PRIu64, size % 10);
}

void sp_svg_attribute(FILE *out, const char *name, double value)
{
    fprintf(out, " %s=\"", name);
    sp_svg_number(out, value);
    putc('"', out);
}

double sp_svg_x(const struct sp_svg_chart *chart, uint64_t x)
{
    return SP_SVG_LEFT + SP_SVG_PLOT * ((double)(x - chart->x_begin) /
                                        (double)(chart->x_end - chart->x_begin));
}

double sp_svg_y(const struct sp_svg_chart *chart, double y)
{
    return chart->top + chart->height * (1 - y / chart->y_end);
}

/* ---- ticks ------------------------------------------------------------------------------ */

/* A step of which there are about N_STEPS in `range`. */
static double nice_step(double range)
{
    double step = 0.1;

    while (10 * step <= range / N_STEPS)
        step *= 10;
    if (5 * step <= range / N_STEPS)
        return 5 * step;
    return 2 * step <= range / N_STEPS ? 2 * step : step;
}

static double unit_of(double bytes, const char **word_out)
{
    static const char *const words[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double unit = 1;
    size_t i = 0;

    for (; i + 1 < SP_ARRAY_SIZE(words) && bytes >= 2 * 1024 * unit; i++)
        unit *= 1024;
    *word_out = words[i];
    return unit;
}

static void line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
    fputs("<line", out);
    sp_svg_attribute(out, "x1", x1);
    sp_svg_attribute(out, "y1", y1);
    sp_svg_attribute(out, "x2", x2);
    sp_svg_attribute(out, "y2", y2);
    fprintf(out, " %s/>\n", style);
}

/* Begins a text; the caller writes it and ends it. */
static void text_at(FILE *out, double x, double y, const char *style)
{
    fputs("<text", out);
    sp_svg_attribute(out, "x", x);
    sp_svg_attribute(out, "y", y);
    fprintf(out, " %s>", style);
}

static void y_ticks(const struct sp_svg_chart *chart)
{
    const char *word;
    double unit = unit_of(chart->y_end, &word);
    double step = nice_step(chart->y_end / unit);
    double middle = chart->top + chart->height / 2;

    /* A byte has no tenths. */
    if (unit <= 1 && step < 1)
        step = 1;
    for (unsigned i = 0; i * step * unit <= chart->y_end; i++) {
        double y = sp_svg_y(chart, i * step * unit);

        if (i > 0)
            line(chart->out, SP_SVG_LEFT, y, SP_SVG_LEFT + SP_SVG_PLOT, y,
                 "stroke=\"#e4e4e4\"");
        text_at(chart->out, SP_SVG_LEFT - 8, y + 4, "text-anchor=\"end\"");
        sp_svg_number(chart->out, i * step);
        fputs("</text>\n", chart->out);
    }
    fputs("<text text-anchor=\"middle\" transform=\"rotate(-90)", chart->out);
    putc('"', chart->out);
    sp_svg_attribute(chart->out, "x", -middle);
    sp_svg_attribute(chart->out, "y", 20);
    fprintf(chart->out, ">%s [%s]</text>\n", chart->y_title, word);
}

static void x_ticks(const struct sp_svg_chart *chart)
{
    double bottom = chart->top + chart->height;
    double wanted = nice_step((double)(chart->x_end - chart->x_begin));
    uint64_t step = wanted < 1 ? 1 : (uint64_t)(wanted + 0.5);
    uint64_t x = chart->x_begin + (step - chart->x_begin % step) % step;

    for (; x <= chart->x_end && x >= chart->x_begin; x += step) {
        double at = sp_svg_x(chart, x);

        line(chart->out, at, bottom, at, bottom + 5, "stroke=\"#444\"");
        text_at(chart->out, at, bottom + 19, "text-anchor=\"middle\"");
        fprintf(chart->out, "%" PRIu64 "</text>\n", x);
    }
    text_at(chart->out, SP_SVG_LEFT + SP_SVG_PLOT / 2.0, bottom + 38, "text-anchor=\"middle\"");
    fprintf(chart->out, "%s</text>\n", chart->x_title);
}

void sp_svg_axes(const struct sp_svg_chart *chart)
{
    y_ticks(chart);
    x_ticks(chart);
    fputs("<rect fill=\"none\" stroke=\"#444\"", chart->out);
    sp_svg_attribute(chart->out, "x", SP_SVG_LEFT);
    sp_svg_attribute(chart->out, "y", chart->top);
    sp_svg_attribute(chart->out, "width", SP_SVG_PLOT);
    sp_svg_attribute(chart->out, "height", chart->height);
    fputs("/>\n", chart->out);
}

void sp_svg_level(const struct sp_svg_chart *chart, double y, const char *style)
{
    double at = sp_svg_y(chart, y);

    line(chart->out, SP_SVG_LEFT, at, SP_SVG_LEFT + SP_SVG_PLOT, at, style);
}
