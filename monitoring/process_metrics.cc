#include "monitoring/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "monitoring/read_metrics.h"

namespace ps {
namespace {

double ResidentBytes() {
  // The file has total and resident size, in pages (proc(5)).
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         1e-6 * static_cast<double>(time.tv_usec);
}

double ProcessorSeconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return Seconds(used.ru_utime) + Seconds(used.ru_stime);
}

double OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  // The descriptor that lists them is not counted.
  return error
             ? 0
             : static_cast<double>(std::distance(begin(files), end(files))) - 1;
}

double MaxOpenFiles() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

std::shared_ptr<prometheus::Collectable> ProcessMetrics() {
  auto metrics = std::make_shared<ReadMetrics>();
  metrics->AddGauge("process_resident_memory_bytes",
                    "Memory of the process that is in RAM.", ResidentBytes);
  metrics->AddCounter("process_cpu_seconds_total",
                      "Processor time of the process, user and system.",
                      ProcessorSeconds);
  metrics->AddGauge("process_open_fds", "Open files and connections.",
                    OpenFiles);
  metrics->AddGauge("process_max_fds",
                    "Files and connections that the process may open.",
                    MaxOpenFiles);
  const double start = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  metrics->AddGauge("process_start_time_seconds",
                    "When the process started, in seconds since 1970.",
                    [start] { return start; });
  return metrics;
}

}  // namespace ps
