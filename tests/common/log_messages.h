// What a test's code logs.
#ifndef TESTS_COMMON_LOG_MESSAGES_H_
#define TESTS_COMMON_LOG_MESSAGES_H_

#include <string>
#include <vector>

#include "glog/logging.h"

namespace ps {

// Collects the messages of all threads while it exists; all() is for when no
// other thread logs.
class LogMessages final : public google::LogSink {
 public:
  LogMessages() { google::AddLogSink(this); }
  ~LogMessages() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int,
            const google::LogMessageTime&, const char* message,
            size_t size) override {
    all_.emplace_back(message, size);
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
};

}  // namespace ps

#endif  // TESTS_COMMON_LOG_MESSAGES_H_
