// The side information that travels with the positions of a leader, for
// compressors with a server-side codec.
#ifndef COMPRESSORS_PAYLOAD_POSITION_REMARKS_H_
#define COMPRESSORS_PAYLOAD_POSITION_REMARKS_H_

#include <string>

namespace ps {

// Side information as bytes that only the compressor can read; may be empty.
struct PositionRemarks {
  std::string leader;  // Side information of the leader's compressor.
  std::string server;  // Side information of the server-side codec.
};

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_POSITION_REMARKS_H_
