// A thread of this process.
#ifndef COMMON_THREAD_H_
#define COMMON_THREAD_H_

#include <functional>
#include <thread>

namespace ps {

// Equals std::thread, which a simulation could not replace (tests/simulation).
// Must be joined before it is destroyed or assigned to.
class Thread {
 public:
  Thread() = default;
  // Runs `work`. `name`, of which debuggers and top -H show 15 bytes, must be
  // valid until the thread has ended.
  Thread(const char* name, std::function<void()> work);

  bool joinable() const { return thread_.joinable(); }
  // Waits for the end of `work`.
  void Join();

 private:
  std::thread thread_;
};

}  // namespace ps

#endif  // COMMON_THREAD_H_
