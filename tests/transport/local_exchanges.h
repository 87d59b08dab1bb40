// Workers' ends of an exchange within one process.
#ifndef TESTS_TRANSPORT_LOCAL_EXCHANGES_H_
#define TESTS_TRANSPORT_LOCAL_EXCHANGES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "transport/stage_exchange.h"

namespace ps {

// Thread-safe.
class LocalExchanges {
 public:
  explicit LocalExchanges(int num_workers);

  // The end of this worker, which lives as long as this object.
  StageExchange* For(int rank) { return ends_[rank].get(); }

  // Calls that wait, and later ones, return `failure`.
  void Fail(const absl::Status& failure);

  // Arrays that have not been forgotten, of all streams.
  int64_t num_kept() const;

 private:
  class End;
  using StreamId = std::tuple<int, int, int>;  // From, to, stream.

  struct Stream {
    int64_t last_put = -1;
    int64_t last_get = -1;
    std::map<int64_t, std::vector<float>> kept;  // By number.
  };

  absl::Status Check(int rank, int peer, int stream, int64_t number) const;
  absl::Status Put(const StreamId& id, int64_t number,
                   absl::Span<const float> values);
  absl::Status Get(const StreamId& id, int64_t number,
                   absl::Span<float> values);

  std::vector<std::unique_ptr<StageExchange>> ends_;
  mutable Mutex mu_;
  CondVar news_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::map<StreamId, Stream> streams_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // TESTS_TRANSPORT_LOCAL_EXCHANGES_H_
