// Decides which chunks for other workers may be sent to one server.
#ifndef TRANSPORT_STAGE_WINDOW_H_
#define TRANSPORT_STAGE_WINDOW_H_

#include <cstdint>
#include <map>
#include <optional>

namespace ps {

// The window. The server answers a chunk when its receiver asks for the next
// one of the stream. The first unanswered chunk of each stream is therefore
// always in flight: every chunk that a receiver waits for can come, however
// full the server is. Other chunks go ahead of their turn, in order, while all
// bytes in flight stay within half of the credit. If one chunk of each stream
// fits into the other half (StageLimitsFor), the server never refuses one. Not
// thread-safe.
class StageWindow {
 public:
  explicit StageWindow(int64_t credit_bytes) : credit_bytes_(credit_bytes) {}

  // Adds a chunk; numbers must ascend. `bytes` is its memory at the server.
  void Add(int64_t number, int stream, int64_t bytes);

  // Returns the next chunk that may go, which counts as in flight from now on;
  // nullopt if there is none.
  std::optional<int64_t> Next();

  // Removes a chunk that has been answered, or that need not be sent any more.
  void Answered(int64_t number);

 private:
  struct Chunk {
    int stream = 0;
    int64_t bytes = 0;
    bool under_way = false;
  };

  int64_t Start(int64_t number, Chunk* chunk);

  const int64_t credit_bytes_;
  // The unanswered ones by number.
  std::map<int64_t, Chunk> chunks_;
  std::map<int, std::map<int64_t, Chunk*>> streams_;  // The same by stream.
  std::map<int64_t, Chunk*> queued_;                  // The ones not in flight.
  int64_t bytes_under_way_ = 0;
};

}  // namespace ps

#endif  // TRANSPORT_STAGE_WINDOW_H_
