// LGC's part at the servers: trains an autoencoder on the values of one slice,
// and decodes what workers send in its codes.
#ifndef COMPRESSORS_LGC_SLICE_CODER_H_
#define COMPRESSORS_LGC_SLICE_CODER_H_

#include <memory>

#include "compressors/slice_coder.h"

namespace ps {

// Trains on a thread of its own while the slice waits for the next pushes.
std::unique_ptr<SliceCoder> NewLgcSliceCoder(const SliceCoderOptions& options);

SliceCoderBytes LgcSliceCoderBytes(const SliceCoderOptions& options);

}  // namespace ps

#endif  // COMPRESSORS_LGC_SLICE_CODER_H_
