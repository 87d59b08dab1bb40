#include "tests/ptx/device.h"

namespace ptx {
namespace {

[[maybe_unused]] const bool kIsSet = (SetOrder(Order::kBackward), true);

}  // namespace
}  // namespace ptx
