// Defines how people write digits: the pen's path in each of the usual ways.
#ifndef DATA_DIGIT_STROKES_H_
#define DATA_DIGIT_STROKES_H_

#include <vector>

namespace ps {

// A point: x to the right, y down; a digit fills about [0.1, 0.9] x [0, 1].
struct StrokePoint {
  float x = 0;
  float y = 0;
};

// The path of the pen from touching the paper to leaving it.
struct Stroke {
  enum Kind {
    kStraight,  // Straight lines from point to point, with corners.
    kCurved,    // One smooth curve through all points.
  };
  Kind kind = kStraight;
  std::vector<StrokePoint> points;  // At least two.
};

using Glyph = std::vector<Stroke>;

// Returns the ways to write `digit`, 0 to 9; at least one.
const std::vector<Glyph>& DigitGlyphs(int digit);

}  // namespace ps

#endif  // DATA_DIGIT_STROKES_H_
