// This file uses only additions, multiplications, divisions and square roots.
// IEEE 754 defines their results exactly, so that every machine draws the same
// images. For the same reason the BUILD file forbids the compiler to contract
// floating-point operations.
#include "data/digit_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "data/digit_strokes.h"

namespace ps {
namespace {

// Returns an approximately normal number with mean 0 and variance 1: the sum of
// four uniform draws. It is fast, the same on every machine, and bounded by 2
// sqrt(3), so that no digit leaves the image altogether.
float RoughNormal(RandomStream* random) {
  const uint64_t word = random->Next();
  const int32_t sum =
      static_cast<int32_t>((word & 0xffff) + (word >> 16 & 0xffff) +
                           (word >> 32 & 0xffff) + (word >> 48));
  // The sum of four draws from 0 .. 65535 has mean 131070 and deviation 65536 /
  // sqrt(3).
  return static_cast<float>(sum - 131070) * (1 / 37837.22f);
}

float Uniform(float low, float high, RandomStream* random) {
  return low + (high - low) * static_cast<float>(random->Uniform());
}

// A smooth random displacement of the paper: the elastic distortion of Simard,
// Steinkraus, Platt, "Best practices for convolutional neural networks", ICDAR
// 2003, with a B-spline instead of their blurred noise.
class ElasticField {
 public:
  // `strength` is the deviation of a control value.
  ElasticField(float strength, RandomStream* random) {
    for (StrokePoint& control : controls_) {
      control.x = strength * RoughNormal(random);
      control.y = strength * RoughNormal(random);
    }
  }

  StrokePoint Displace(StrokePoint p) const {
    std::array<float, 4> weights_x, weights_y;
    const int column = Locate(p.x, &weights_x);
    const int row = Locate(p.y, &weights_y);
    StrokePoint result = p;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const float weight = weights_y[i] * weights_x[j];
        const StrokePoint& control =
            controls_[(row + i) * kControls + column + j];
        result.x += weight * control.x;
        result.y += weight * control.y;
      }
    }
    return result;
  }

 private:
  // The number of cells along one side of the unit square, and the number of
  // control values that cubic B-splines over them need.
  static constexpr int kCells = 3;
  static constexpr int kControls = kCells + 3;

  // Returns the cell that contains coordinate `x`, and the four basis values
  // there.
  static int Locate(float x, std::array<float, 4>* weights) {
    const float scaled =
        std::min(std::max(x, 0.0f), 0.9999f) * static_cast<float>(kCells);
    const int cell = static_cast<int>(scaled);
    const float t = scaled - static_cast<float>(cell);
    const float s = 1 - t;
    (*weights)[0] = s * s * s / 6;
    (*weights)[1] = (3 * t * t * t - 6 * t * t + 4) / 6;
    (*weights)[2] = (3 * s * s * s - 6 * s * s + 4) / 6;
    (*weights)[3] = t * t * t / 6;
    return cell;
  }

  std::array<StrokePoint, kControls * kControls> controls_;
};

// Maps the unit square of a glyph to pixels.
class Placement {
 public:
  Placement(float distortion, RandomStream* random) {
    // The angle is in radians. Only the tangent of the half angle is needed, so
    // no sine is computed.
    const float angle = 0.16f * distortion * RoughNormal(random);
    const float t = angle / 2;
    const float cosine = (1 - t * t) / (1 + t * t);
    const float sine = 2 * t / (1 + t * t);
    const float shear = 0.18f * distortion * RoughNormal(random);
    const float height = 19 * Scale(0.09f * distortion, random);
    const float width = 15 * Scale(0.12f * distortion, random);
    xx_ = cosine * width;
    xy_ = (cosine * shear - sine) * height;
    yx_ = sine * width;
    yy_ = (sine * shear + cosine) * height;
    const float middle = (kDigitImageSide - 1) / 2.0f;
    x0_ = middle + 1.3f * distortion * RoughNormal(random);
    y0_ = middle + 1.3f * distortion * RoughNormal(random);
  }

  StrokePoint Place(StrokePoint p) const {
    const float x = p.x - 0.5f;
    const float y = p.y - 0.5f;
    return {x0_ + xx_ * x + xy_ * y, y0_ + yx_ * x + yy_ * y};
  }

 private:
  static float Scale(float deviation, RandomStream* random) {
    return std::max(0.5f, 1 + deviation * RoughNormal(random));
  }

  float xx_, xy_, yx_, yy_;
  float x0_, y0_;
};

// Returns the point at `t` in [0, 1] between b and c, on the curve through a,
// b, c, d (Catmull, Rom, "A class of local interpolating splines", 1974).
StrokePoint CurvePoint(StrokePoint a, StrokePoint b, StrokePoint c,
                       StrokePoint d, float t) {
  const auto blend = [t](float a, float b, float c, float d) {
    return b +
           t / 2 *
               (c - a +
                t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  };
  return {blend(a.x, b.x, c.x, d.x), blend(a.y, b.y, c.y, d.y)};
}

// Returns the pen's path, with its points moved slightly, as a polyline of
// short pieces.
std::vector<StrokePoint> Trace(const Stroke& stroke, float unsteadiness,
                               RandomStream* random) {
  std::vector<StrokePoint> points = stroke.points;
  for (StrokePoint& point : points) {
    point.x += unsteadiness * RoughNormal(random);
    point.y += unsteadiness * RoughNormal(random);
  }
  // The number of pieces between two points; straight lines have them too,
  // since the paper bends them.
  constexpr int kPieces = 5;
  std::vector<StrokePoint> path;
  path.reserve(points.size() * kPieces);
  const int last = static_cast<int>(points.size()) - 1;
  for (int i = 0; i < last; ++i) {
    const StrokePoint& b = points[i];
    const StrokePoint& c = points[i + 1];
    for (int k = 0; k < kPieces; ++k) {
      const float t = static_cast<float>(k) / kPieces;
      path.push_back(
          stroke.kind == Stroke::kCurved
              ? CurvePoint(points[std::max(i - 1, 0)], b, c,
                           points[std::min(i + 2, last)], t)
              : StrokePoint{b.x + t * (c.x - b.x), b.y + t * (c.y - b.y)});
    }
  }
  path.push_back(points.back());
  return path;
}

// The squared distance of every pixel from the pen's path, up to the reach of
// the pen.
class DistanceMap {
 public:
  explicit DistanceMap(float reach) : reach_(reach) {
    squared_.fill(reach * reach);
  }

  // Adds the straight piece from a to b.
  void Add(StrokePoint a, StrokePoint b) {
    const float dx = b.x - a.x;
    const float dy = b.y - a.y;
    const float length_squared = dx * dx + dy * dy;
    const float scale = length_squared > 0 ? 1 / length_squared : 0;
    const int right = Last(std::max(a.x, b.x));
    const int bottom = Last(std::max(a.y, b.y));
    for (int y = First(std::min(a.y, b.y)); y <= bottom; ++y) {
      for (int x = First(std::min(a.x, b.x)); x <= right; ++x) {
        const float px = static_cast<float>(x) - a.x;
        const float py = static_cast<float>(y) - a.y;
        const float along =
            std::min(std::max((px * dx + py * dy) * scale, 0.0f), 1.0f);
        const float ex = px - along * dx;
        const float ey = py - along * dy;
        float& squared = squared_[y * kDigitImageSide + x];
        squared = std::min(squared, ex * ex + ey * ey);
      }
    }
  }

  float Distance(int pixel) const { return std::sqrt(squared_[pixel]); }

 private:
  // Returns the range of pixels within reach of a coordinate range.
  int First(float low) const {
    return std::max(0, static_cast<int>(low - reach_));
  }
  int Last(float high) const {
    return std::min(kDigitImageSide - 1, static_cast<int>(high + reach_) + 1);
  }

  const float reach_;
  std::array<float, kDigitImageSide * kDigitImageSide> squared_;
};

}  // namespace

DigitImage DrawDigit(int digit, const DigitImageOptions& options,
                     RandomStream random) {
  const float distortion = static_cast<float>(options.distortion);
  const float noise = static_cast<float>(options.noise);
  const std::vector<Glyph>& glyphs = DigitGlyphs(digit);
  const Glyph& glyph = glyphs[random.Below(glyphs.size())];
  const Placement placement(distortion, &random);
  const ElasticField field(0.11f * distortion, &random);
  const float radius =
      std::max(0.5f, 1.05f + 0.25f * distortion * RoughNormal(&random));

  DistanceMap distances(radius + 1);
  for (const Stroke& stroke : glyph) {
    const std::vector<StrokePoint> path =
        Trace(stroke, 0.018f * distortion, &random);
    StrokePoint previous = placement.Place(field.Displace(path[0]));
    for (size_t i = 1; i < path.size(); ++i) {
      const StrokePoint next = placement.Place(field.Displace(path[i]));
      distances.Add(previous, next);
      previous = next;
    }
  }

  const float ink = Uniform(0.65f, 1.0f, &random);
  const float paper = Uniform(0.0f, 0.2f, &random);
  DigitImage image;
  for (int i = 0; i < static_cast<int>(image.size()); ++i) {
    // The fraction of the pixel that the pen covers, to first order.
    const float cover =
        std::min(std::max(radius + 0.5f - distances.Distance(i), 0.0f), 1.0f);
    const float value =
        paper + (ink - paper) * cover + noise * RoughNormal(&random);
    image[i] = static_cast<uint8_t>(
        255 * std::min(std::max(value, 0.0f), 1.0f) + 0.5f);
  }
  return image;
}

}  // namespace ps
