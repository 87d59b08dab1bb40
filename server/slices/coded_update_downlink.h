// A downlink that sends the changes of the elements that workers pushed, in any
// value code.
//
// The server keeps the *view*, the weights that all workers hold. After each
// update it codes weights - view at the elements that changed, and adds the
// decoded values to the view in the same order of operations as the workers.
// The rounding error of the code is part of the element's next change: error
// feedback without a separate residual and without further elements.
#ifndef SERVER_SLICES_CODED_UPDATE_DOWNLINK_H_
#define SERVER_SLICES_CODED_UPDATE_DOWNLINK_H_

#include <memory>

#include "server/slices/downlink.h"

namespace ps {

// Creates the downlink. `config` names the value code, and no compressor.
std::unique_ptr<Downlink> NewCodedUpdateDownlink(const CompressorConfig& config,
                                                 const SliceOptions& options,
                                                 const PayloadBuffer& weights);

}  // namespace ps

#endif  // SERVER_SLICES_CODED_UPDATE_DOWNLINK_H_
