#include "common/thread.h"

#include <pthread.h>

#include <string>
#include <utility>

namespace ps {

Thread::Thread(const char* name, std::function<void()> work)
    : thread_([name, work = std::move(work)] {
        // The system refuses longer names.
        pthread_setname_np(pthread_self(), std::string(name, 0, 15).c_str());
        work();
      }) {}

void Thread::Join() { thread_.join(); }

}  // namespace ps
