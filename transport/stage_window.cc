#include "transport/stage_window.h"

namespace ps {
namespace {

// The most calls that leave others possible on a connection, which may have
// 256: the server holds all of them.
constexpr int64_t kMaxAhead = 64;

}  // namespace

void StageWindow::Add(int64_t number, int stream, int64_t bytes) {
  Chunk& chunk = chunks_[number];
  chunk.stream = stream;
  chunk.bytes = bytes;
  streams_[stream][number] = &chunk;
  queued_[number] = &chunk;
}

int64_t StageWindow::Start(int64_t number, Chunk* chunk) {
  chunk->under_way = true;
  bytes_under_way_ += chunk->bytes;
  queued_.erase(number);
  return number;
}

std::optional<int64_t> StageWindow::Next() {
  for (const auto& [stream, chunks] : streams_) {
    const auto& [number, chunk] = *chunks.begin();
    if (!chunk->under_way) return Start(number, chunk);
  }
  const auto under_way = static_cast<int64_t>(chunks_.size() - queued_.size());
  if (queued_.empty() || under_way >= kMaxAhead) return std::nullopt;
  const auto [number, chunk] = *queued_.begin();
  if (bytes_under_way_ + chunk->bytes > credit_bytes_ / 2) return std::nullopt;
  return Start(number, chunk);
}

void StageWindow::Answered(int64_t number) {
  const auto it = chunks_.find(number);
  if (it == chunks_.end()) return;
  const Chunk& chunk = it->second;
  if (chunk.under_way) bytes_under_way_ -= chunk.bytes;
  queued_.erase(number);
  const auto stream = streams_.find(chunk.stream);
  stream->second.erase(number);
  if (stream->second.empty()) streams_.erase(stream);
  chunks_.erase(it);
}

}  // namespace ps
