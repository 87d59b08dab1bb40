#include "data/shape_image.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "glog/logging.h"

namespace ps {
namespace {

constexpr double kTurn = 6.283185307179586;

// Each pixel is the mean of this many points per side, to smooth edges.
constexpr int kPointsPerSide = 2;

struct Point {
  double x;
  double y;
};

double Radius(const Point& p) { return std::hypot(p.x, p.y); }

bool InBox(const Point& p, double half_width, double half_height) {
  return std::abs(p.x) <= half_width && std::abs(p.y) <= half_height;
}

// Whether p is in a triangle whose corners have distance 1 from the centre.
bool InTriangle(const Point& p) {
  return p.y >= -0.5 && std::abs(p.x) <= (1 - p.y) * 0.57735;
}

// Whether p is in a star with five points; between them the edge is at distance
// 0.42 from the centre.
bool InStar(const Point& p) {
  const double sector = kTurn / 5;
  const double angle = std::atan2(p.x, p.y) + kTurn;
  // The angle from the nearest point of the star.
  const double away = std::abs(std::remainder(angle, sector));
  // The edge is a straight line from radius 1 at angle 0 to `inner` at half a
  // sector.
  const double inner = 0.42;
  const double x = inner * std::sin(sector / 2);
  const double y = inner * std::cos(sector / 2);
  const double radius = Radius(p);
  const double across = radius * std::sin(away);
  const double along = radius * std::cos(away);
  return (1 - along) * x >= across * (1 - y);
}

// Whether p is in the shape; all shapes lie within the unit circle.
bool IsInside(int shape, const Point& p) {
  switch (shape) {
    case 0:  // Disc.
      return Radius(p) <= 0.85;
    case 1:  // Ring.
      return Radius(p) <= 0.95 && Radius(p) >= 0.55;
    case 2:  // Square.
      return InBox(p, 0.7, 0.7);
    case 3:  // Frame.
      return InBox(p, 0.7, 0.7) && !InBox(p, 0.38, 0.38);
    case 4:
      return InTriangle(p);
    case 5:
      return InStar(p);
    case 6:  // Plus.
      return InBox(p, 0.9, 0.25) || InBox(p, 0.25, 0.9);
    case 7:  // Crescent.
      return Radius(p) <= 0.9 && Radius({p.x - 0.45, p.y}) >= 0.75;
    case 8:  // Bar.
      return InBox(p, 0.95, 0.25);
    case 9:  // T.
      return InBox({p.x, p.y - 0.5}, 0.75, 0.22) ||
             InBox({p.x, p.y + 0.1}, 0.22, 0.8);
    default:
      LOG(FATAL) << "shape " << shape << " of " << kNumShapes;
  }
  return false;
}

// The pose of the shape, in units of half the image's side from the centre.
struct Pose {
  Point center;
  double scale;
  double cosine;
  double sine;
};

Pose DrawPose(RandomStream* random) {
  Pose pose;
  pose.scale = random->Uniform(0.35, 0.75);
  const double room = 1 - pose.scale;
  pose.center.x = random->Uniform(-room, room);
  pose.center.y = random->Uniform(-room, room);
  const double angle = random->Uniform(0, kTurn);
  pose.cosine = std::cos(angle);
  pose.sine = std::sin(angle);
  return pose;
}

struct Colours {
  std::array<double, 3> background;
  std::array<double, 3> slope_x;  // The slope of the background, like slope_y.
  std::array<double, 3> slope_y;
  std::array<double, 3> shape;
};

Colours DrawColours(RandomStream* random) {
  Colours colours;
  for (int channel = 0; channel < 3; ++channel) {
    const double background = random->Uniform(0.2, 0.8);
    colours.background[channel] = background;
    colours.slope_x[channel] = random->Uniform(-0.15, 0.15);
    colours.slope_y[channel] = random->Uniform(-0.15, 0.15);
    // The shape is lighter or darker than the background, and never the same.
    const double contrast = random->Uniform(0.25, 0.6);
    colours.shape[channel] = std::clamp(
        background + (random->Below(2) == 0 ? contrast : -contrast), 0.0, 1.0);
  }
  return colours;
}

}  // namespace

void DrawShape(int shape, const ShapeImageOptions& options, RandomStream random,
               float* pixels) {
  const Pose pose = DrawPose(&random);
  const Colours colours = DrawColours(&random);
  const int64_t plane = options.side * options.side;
  const double step = 2.0 / static_cast<double>(options.side);
  for (int64_t row = 0; row < options.side; ++row) {
    for (int64_t column = 0; column < options.side; ++column, ++pixels) {
      int inside = 0;
      for (int point = 0; point < kPointsPerSide * kPointsPerSide; ++point) {
        const double dx = (point % kPointsPerSide + 0.5) / kPointsPerSide;
        const double dy = (point / kPointsPerSide + 0.5) / kPointsPerSide;
        const double x =
            ((static_cast<double>(column) + dx) * step - 1 - pose.center.x) /
            pose.scale;
        const double y =
            ((static_cast<double>(row) + dy) * step - 1 - pose.center.y) /
            pose.scale;
        inside += IsInside(shape, {pose.cosine * x + pose.sine * y,
                                   pose.cosine * y - pose.sine * x})
                      ? 1
                      : 0;
      }
      const double cover =
          static_cast<double>(inside) / (kPointsPerSide * kPointsPerSide);
      uint64_t bits = random.Next();
      for (int channel = 0; channel < 3; ++channel, bits >>= 20) {
        const double background =
            colours.background[channel] +
            colours.slope_x[channel] *
                (static_cast<double>(column) * step - 1) +
            colours.slope_y[channel] * (static_cast<double>(row) * step - 1);
        // The noise is the sum of two uniform draws of 10 bits each, with mean
        // 1 and variance 1/6. It is close enough to normal noise, and one draw
        // serves all channels.
        const double draw =
            static_cast<double>((bits & 1023) + ((bits >> 10) & 1023)) / 1023;
        const double noise = options.noise * (draw - 1) * 2.449489742783178;
        const double value =
            background + cover * (colours.shape[channel] - background) + noise;
        pixels[channel * plane] =
            static_cast<float>(std::clamp(value, 0.0, 1.0));
      }
    }
  }
}

}  // namespace ps
