// Reads the orientation of the camera from a photograph's EXIF data.
//
// The format (CIPA DC-008, "Exchangeable image file format for digital still
// cameras", 4.5 and 4.6.4): a TIFF file whose first directory has the
// orientation, a number that says which way the stored rows and columns run.
#ifndef DATA_EXIF_H_
#define DATA_EXIF_H_

#include "absl/strings/string_view.h"
#include "data/rgb_image.h"

namespace ps {

// Returns the orientation in the bytes of a TIFF file, from 1 to 8; 1, that of
// an image as it is stored, if they have none or are damaged.
int ExifOrientation(absl::string_view tiff);

// Turns and mirrors a stored image so that it looks as it was taken.
// orientation: from 1 to 8.
RgbImage Upright(RgbImage stored, int orientation);

}  // namespace ps

#endif  // DATA_EXIF_H_
