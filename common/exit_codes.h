// The exit codes of all programs, so that a scheduler knows what to retry. The
// numbers are those of sysexits.h where it defines one.
#ifndef COMMON_EXIT_CODES_H_
#define COMMON_EXIT_CODES_H_

namespace ps {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 64;        // Bad command line: never retry.
constexpr int kExitUnreachable = 75;  // Lost the other processes: retry.
constexpr int kExitConfig = 78;       // Bad job or missing data: never retry.
constexpr int kExitInterrupted = 130;

}  // namespace ps

#endif  // COMMON_EXIT_CODES_H_
