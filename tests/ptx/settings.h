// What device.h sets, for the parts that obey it.
#ifndef TESTS_PTX_SETTINGS_H_
#define TESTS_PTX_SETTINGS_H_

#include <cstdint>

namespace ptx {

uint32_t ShuffleSeed();
bool RacesAreChecked();

}  // namespace ptx

#endif  // TESTS_PTX_SETTINGS_H_
