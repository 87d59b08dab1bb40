// Which part of a photograph is looked at.
#ifndef DATA_RANDOM_CROP_H_
#define DATA_RANDOM_CROP_H_

#include <cstdint>

#include "common/random.h"
#include "data/resize.h"

namespace ps {

// A part with min_area .. 1 of the image's area and an aspect ratio between
// 3/4 and 4/3, anywhere in it (Szegedy et al., "Going deeper with
// convolutions", CVPR 2015, section 6). Where ten draws do not fit, as in very
// long images, the largest square in the middle. min_area is in (0, 1].
Crop RandomCrop(int64_t width, int64_t height, double min_area,
                RandomStream* random);

// The square in the middle whose side is the part `side / resize` of the
// image's shorter side; side is at most resize.
Crop CenterCrop(int64_t width, int64_t height, int64_t side, int64_t resize);

}  // namespace ps

#endif  // DATA_RANDOM_CROP_H_
