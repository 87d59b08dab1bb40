#include "data/digit_strokes.h"

#include <array>
#include <vector>

#include "glog/logging.h"

namespace ps {
namespace {

constexpr Stroke::Kind kStraight = Stroke::kStraight;
constexpr Stroke::Kind kCurved = Stroke::kCurved;

using GlyphTable = std::array<std::vector<Glyph>, 10>;

// Returns glyphs, drawn by hand on squared paper rather than derived.
GlyphTable MakeGlyphs() {
  GlyphTable glyphs;
  glyphs[0] = {
      // Closed.
      {{kCurved,
        {{.52, 0},
         {.22, .16},
         {.12, .55},
         {.28, .92},
         {.55, .99},
         {.82, .75},
         {.86, .35},
         {.70, .05},
         {.52, 0}}}},
      // Narrow, begun inside.
      {{kCurved,
        {{.66, .12},
         {.45, .02},
         {.25, .25},
         {.22, .65},
         {.40, .97},
         {.62, .88},
         {.74, .5},
         {.68, .15},
         {.48, .04}}}},
  };
  glyphs[1] = {
      // A bar.
      {{kStraight, {{.52, 0}, {.48, 1}}}},
      // With an upstroke.
      {{kStraight, {{.28, .26}, {.56, 0}, {.54, 1}}}},
      // With an upstroke and a foot.
      {{kStraight, {{.30, .22}, {.54, 0}, {.53, .99}}},
       {kStraight, {{.28, 1}, {.78, .98}}}},
  };
  glyphs[2] = {
      // A corner below.
      {{kCurved,
        {{.16, .24},
         {.34, .03},
         {.66, .04},
         {.78, .28},
         {.56, .62},
         {.14, .97}}},
       {kStraight, {{.14, .97}, {.88, .95}}}},
      // A loop below.
      {{kCurved,
        {{.20, .20},
         {.42, .02},
         {.72, .10},
         {.72, .38},
         {.46, .74},
         {.22, .94},
         {.12, .84},
         {.28, .78},
         {.56, .92},
         {.90, .90}}}},
  };
  glyphs[3] = {
      // Two bows.
      {{kCurved, {{.18, .12}, {.46, 0}, {.76, .16}, {.66, .40}, {.40, .48}}},
       {kCurved, {{.40, .48}, {.72, .55}, {.82, .78}, {.52, 1}, {.14, .88}}}},
      // A flat top.
      {{kStraight, {{.20, .03}, {.80, .02}, {.46, .42}}},
       {kCurved, {{.46, .42}, {.78, .52}, {.80, .84}, {.48, 1}, {.14, .88}}}},
  };
  glyphs[4] = {
      // Open above.
      {{kStraight, {{.26, 0}, {.16, .55}, {.88, .53}}},
       {kStraight, {{.70, .20}, {.64, 1}}}},
      // Closed above.
      {{kStraight, {{.66, 0}, {.10, .64}, {.92, .64}}},
       {kStraight, {{.66, 0}, {.66, 1}}}},
      // Open and round.
      {{kCurved, {{.22, .02}, {.18, .36}, {.36, .54}, {.74, .46}}},
       {kStraight, {{.78, 0}, {.72, .5}, {.70, 1}}}},
  };
  glyphs[5] = {
      // Corners above.
      {{kStraight, {{.80, .02}, {.30, .03}, {.24, .44}}},
       {kCurved,
        {{.24, .44},
         {.54, .38},
         {.82, .60},
         {.72, .90},
         {.42, 1},
         {.12, .88}}}},
      // One sweep.
      {{kCurved,
        {{.82, .04},
         {.46, .04},
         {.26, .22},
         {.36, .42},
         {.68, .52},
         {.80, .76},
         {.56, .98},
         {.16, .92}}}},
  };
  glyphs[6] = {
      // Bent.
      {{kCurved,
        {{.70, .02},
         {.36, .24},
         {.16, .64},
         {.30, .95},
         {.62, .97},
         {.80, .74},
         {.60, .52},
         {.32, .60},
         {.18, .78}}}},
      // A straight stem and a small loop.
      {{kCurved,
        {{.50, 0},
         {.32, .42},
         {.24, .76},
         {.40, .99},
         {.66, .90},
         {.70, .68},
         {.50, .56},
         {.28, .72}}}},
  };
  glyphs[7] = {
      // Plain.
      {{kStraight, {{.12, .05}, {.84, .03}, {.42, 1}}}},
      // With a crossbar.
      {{kStraight, {{.14, .04}, {.84, .04}, {.40, 1}}},
       {kStraight, {{.32, .50}, {.80, .48}}}},
      // A serif and a bent stem.
      {{kStraight, {{.14, .16}, {.16, .04}, {.84, .03}}},
       {kCurved, {{.84, .03}, {.62, .36}, {.48, .68}, {.44, 1}}}},
  };
  glyphs[8] = {
      // One line that crosses itself.
      {{kCurved,
        {{.74, .14},
         {.48, 0},
         {.24, .18},
         {.46, .46},
         {.78, .74},
         {.52, 1},
         {.20, .78},
         {.46, .50},
         {.74, .26},
         {.70, .08}}}},
      // Two rings.
      {{kCurved,
        {{.50, .46},
         {.26, .28},
         {.36, .04},
         {.64, .04},
         {.72, .28},
         {.50, .46}}},
       {kCurved,
        {{.50, .46},
         {.18, .68},
         {.32, .97},
         {.68, .97},
         {.82, .68},
         {.50, .46}}}},
  };
  glyphs[9] = {
      // A straight stem.
      {{kCurved,
        {{.76, .22},
         {.50, .01},
         {.22, .20},
         {.30, .46},
         {.58, .48},
         {.76, .22}}},
       {kStraight, {{.76, .22}, {.70, .62}, {.66, 1}}}},
      // A bent tail.
      {{kCurved,
        {{.74, .14},
         {.44, .02},
         {.22, .24},
         {.40, .48},
         {.70, .34},
         {.78, .14},
         {.80, .52},
         {.66, .90},
         {.38, 1},
         {.18, .88}}}},
  };
  return glyphs;
}

}  // namespace

const std::vector<Glyph>& DigitGlyphs(int digit) {
  CHECK_GE(digit, 0);
  CHECK_LE(digit, 9);
  static const auto* const glyphs = new GlyphTable(MakeGlyphs());
  return (*glyphs)[digit];
}

}  // namespace ps
