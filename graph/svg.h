/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The frame of a diagram in SVG: axes with ticks and words, and what goes from values to
 * places. Numbers never depend on the locale, so that equal graphs make equal files. */
#ifndef SP_SVG_H
#define SP_SVG_H

#include <stdint.h>
#include <stdio.h>

/* [px] */
#define SP_SVG_WIDTH  960
#define SP_SVG_LEFT   84
#define SP_SVG_PLOT   650
#define SP_SVG_LEGEND (SP_SVG_LEFT + SP_SVG_PLOT + 18)

struct sp_svg_chart {
    FILE *out;
    double top, height;      /* [px] of the frame */
    uint64_t x_begin, x_end; /* x_begin < x_end */
    double y_end;            /* [bytes] above 0 */
    const char *x_title;     /* with its unit */
    const char *y_title;     /* without; its unit is chosen here */
};

/* A number with at most one digit behind the point. */
void sp_svg_number(FILE *out, double value);

/* [px] where a value is. */
double sp_svg_x(const struct sp_svg_chart *chart, uint64_t x);
double sp_svg_y(const struct sp_svg_chart *chart, double y);

/* The frame, its grid, ticks, and what stands at the axes. */
void sp_svg_axes(const struct sp_svg_chart *chart);

/* A level line through the frame; `style` is further attributes. */
void sp_svg_level(const struct sp_svg_chart *chart, double y, const char *style);

/* An attribute: name="number". */
void sp_svg_attribute(FILE *out, const char *name, double value);

#endif /* SP_SVG_H */
