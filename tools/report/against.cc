#include "tools/report/against.h"

namespace ps {
namespace {

double Choose(Against against, double iterations, double bytes,
              double seconds) {
  switch (against) {
    case Against::kIterations:
      return iterations;
    case Against::kBytes:
      return bytes;
    case Against::kSeconds:
      break;
  }
  return seconds;
}

}  // namespace

double PlaceOf(const IterationRow& row, Against against) {
  return Choose(against, row.iteration, row.bytes_up + row.bytes_down,
                row.seconds);
}

double PlaceOf(const EvaluationRow& row, Against against) {
  return Choose(against, row.iteration, row.bytes, row.seconds);
}

void NameAxis(Against against, Plot* plot) {
  plot->x_from_zero = true;
  switch (against) {
    case Against::kIterations:
      plot->x_label = "iteration";
      return;
    case Against::kBytes:
      plot->x_label = "bytes sent, both ways, all workers";
      plot->x_unit = AxisUnit::kBytes;
      plot->title += " by bytes";
      break;
    case Against::kSeconds:
      plot->x_label = "time of training";
      plot->x_unit = AxisUnit::kSeconds;
      plot->title += " by time";
      break;
  }
  plot->x_scale = PlotScale::kAutomatic;
}

}  // namespace ps
