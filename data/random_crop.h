// Chooses the crop of a photograph.
#ifndef DATA_RANDOM_CROP_H_
#define DATA_RANDOM_CROP_H_

#include <cstdint>

#include "common/random.h"
#include "data/resize.h"

namespace ps {

// Returns a random crop with min_area to 1 of the image's area and an aspect
// ratio between 3/4 and 4/3, anywhere in the image (Szegedy et al., "Going
// deeper with convolutions", CVPR 2015, section 6). If none of ten draws fits,
// as in very long images, returns the largest square in the middle. min_area is
// in (0, 1].
Crop RandomCrop(int64_t width, int64_t height, double min_area,
                RandomStream* random);

// Returns the square in the middle whose side is the fraction side / resize of
// the image's shorter side; side is at most resize.
Crop CenterCrop(int64_t width, int64_t height, int64_t side, int64_t resize);

}  // namespace ps

#endif  // DATA_RANDOM_CROP_H_
