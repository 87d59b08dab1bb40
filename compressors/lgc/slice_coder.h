// LGC's server-side codec: trains an autoencoder on the values of one slice,
// and decodes the workers' codes.
#ifndef COMPRESSORS_LGC_SLICE_CODER_H_
#define COMPRESSORS_LGC_SLICE_CODER_H_

#include <memory>

#include "compressors/slice_coder.h"

namespace ps {

// Creates the codec, which trains on its own thread between pushes.
std::unique_ptr<SliceCoder> NewLgcSliceCoder(const SliceCoderOptions& options);

SliceCoderBytes LgcSliceCoderBytes(const SliceCoderOptions& options);

}  // namespace ps

#endif  // COMPRESSORS_LGC_SLICE_CODER_H_
