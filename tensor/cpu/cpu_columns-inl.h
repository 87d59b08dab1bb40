// Loops over the columns of a matrix whose columns are channels, with vectors.
// The file is included once for each instruction set, as Highway requires.

#if defined(TENSOR_CPU_CPU_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSOR_CPU_CPU_COLUMNS_INL_H_
#undef TENSOR_CPU_CPU_COLUMNS_INL_H_
#else
#define TENSOR_CPU_CPU_COLUMNS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {

// A row of the blocked layout has 8 or 16 channels, so wider vectors do not
// help.
using WideColumns = hwy::HWY_NAMESPACE::CappedTag<float, 8>;
// The tag of the remaining columns, too few to fill a vector.
using SingleColumn = hwy::HWY_NAMESPACE::CappedTag<float, 1>;

// Calls body(tag, column) for every group of columns.
template <typename Body>
HWY_INLINE void ForEachColumns(int64_t width, const Body& body) {
  constexpr int64_t kLanes = hwy::HWY_NAMESPACE::MaxLanes(WideColumns());
  int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) body(WideColumns(), c);
  for (; c < width; ++c) body(SingleColumn(), c);
}

}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#endif  // TENSOR_CPU_CPU_COLUMNS_INL_H_
