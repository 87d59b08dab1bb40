// What travels with the positions that a leader has selected, for compressors
// that have a part at the servers.
#ifndef COMPRESSORS_PAYLOAD_POSITION_REMARKS_H_
#define COMPRESSORS_PAYLOAD_POSITION_REMARKS_H_

#include <string>

namespace ps {

// Bytes that only the compressor can read; empty if it has nothing to say.
struct PositionRemarks {
  std::string leader;  // Of the leader's compressor.
  std::string server;  // Of the compressor's part at the server.
};

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_POSITION_REMARKS_H_
