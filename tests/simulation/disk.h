// The disks of a simulation, in place of storage/files.cc. What a process wrote
// survives it; what it did not sync may be lost with its host.
#ifndef TESTS_SIMULATION_DISK_H_
#define TESTS_SIMULATION_DISK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/simulation/scheduler.h"

namespace ps::sim {

// Files are PREFIX/HOST/..., so that the host of each is known.
std::string DiskOf(int host);

// To be called once, after Begin.
void StartDisk();

// The host loses its power: what was not synced is lost, or a part of it, and
// entries of folders that were not synced are those of before or of now.
void LosePower(int host);

// What reading servers' logs takes from now on, however long: all wait for it.
void SetLogSpeed(double bytes_per_second);

// After this many more operations of files, one fails with an I/O error.
void FailOnce(int64_t operations);
bool HasFailed();

// By path; folders are not among them.
bool Exists(const std::string& path);
// Of snapshots below this folder that have a manifest.
std::set<int64_t> WholeSnapshots(const std::string& folder);
// Called after each change of an entry, and with what is appended to a file.
void OnChange(std::function<void(const std::string& path)> changed);
void OnAppend(
    std::function<void(const std::string& path, const std::string& bytes)>
        appended);

}  // namespace ps::sim

#endif  // TESTS_SIMULATION_DISK_H_
