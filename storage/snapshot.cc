#include "storage/snapshot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "storage/crc32c.h"

namespace ps {
namespace {

constexpr char kPrefix[] = "snapshot-";
constexpr char kUnfinished[] = ".unfinished";
constexpr char kRemoved[] = ".removed.unfinished";
constexpr char kManifest[] = "manifest";
constexpr char kFirstWords[] = "gradsieve-snapshot 1 ";

std::string FolderOf(const std::string& folder, int64_t number) {
  return absl::StrCat(folder, "/", kPrefix, number);
}

// Removes a snapshot; does nothing if there is none.
absl::Status RemoveSnapshot(Files* files, const std::string& folder) {
  const std::string removed = folder + kRemoved;
  PS_RETURN_IF_ERROR(files->Remove(removed));
  const absl::Status renamed = files->Rename(folder, removed);
  if (absl::IsNotFound(renamed)) return absl::OkStatus();
  PS_RETURN_IF_ERROR(renamed);
  return files->Remove(removed);
}

std::string ManifestText(const Snapshot& snapshot) {
  Json json = {{"number", snapshot.number}, {"note", snapshot.note}};
  json["files"] = Json::array();
  for (const SnapshotPart& part : snapshot.parts) {
    json["files"].push_back({{"name", part.name},
                             {"bytes", part.size_bytes},
                             {"crc32c", part.crc32c}});
  }
  const std::string body = JsonText(json) + "\n";
  return absl::StrFormat("%s%08x\n%s", kFirstWords, Crc32c(body), body);
}

absl::Status Damaged(const std::string& path, absl::string_view problem) {
  return absl::DataLossError(absl::StrCat(path, " is damaged: it ", problem));
}

// Reads the manifest's fields; false if one is missing or of another type.
bool TakeFields(const Json& json, Snapshot* snapshot) {
  const auto is = [&json](const char* key, auto kind) {
    return json.contains(key) && (json[key].*kind)();
  };
  if (!json.is_object() || !is("number", &Json::is_number_integer) ||
      !is("note", &Json::is_string) || !is("files", &Json::is_array)) {
    return false;
  }
  snapshot->number = json["number"].get<int64_t>();
  snapshot->note = json["note"].get<std::string>();
  for (const Json& file : json["files"]) {
    if (!file.is_object() || !file.contains("name") ||
        !file["name"].is_string() || !file.contains("bytes") ||
        !file["bytes"].is_number_integer() || !file.contains("crc32c") ||
        !file["crc32c"].is_number_unsigned()) {
      return false;
    }
    snapshot->parts.push_back({file["name"].get<std::string>(),
                               file["bytes"].get<int64_t>(),
                               file["crc32c"].get<uint32_t>()});
  }
  return true;
}

}  // namespace

SnapshotWriter::SnapshotWriter(Files* files, const std::string& folder,
                               int64_t number)
    : files_(files) {
  snapshot_.number = number;
  snapshot_.folder = FolderOf(folder, number);
  unfinished_ = snapshot_.folder + kUnfinished;
}

absl::StatusOr<SnapshotWriter> SnapshotWriter::Create(Files* files,
                                                      const std::string& folder,
                                                      int64_t number) {
  SnapshotWriter writer(files, folder, number);
  PS_RETURN_IF_ERROR(files->Remove(writer.unfinished_));
  PS_RETURN_IF_ERROR(files->MakeFolder(writer.unfinished_));
  return writer;
}

absl::Status SnapshotWriter::Write(const std::string& name,
                                   absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                      files_->Create(absl::StrCat(unfinished_, "/", name)));
  PS_RETURN_IF_ERROR(file->Append({bytes}));
  return file->Sync();
}

absl::Status SnapshotWriter::Add(const std::string& name,
                                 absl::string_view bytes) {
  PS_RETURN_IF_ERROR(Write(name, bytes));
  snapshot_.parts.push_back(
      {name, static_cast<int64_t>(bytes.size()), Crc32c(bytes)});
  return absl::OkStatus();
}

absl::Status SnapshotWriter::Commit(const std::string& note) {
  snapshot_.note = note;
  PS_RETURN_IF_ERROR(Write(kManifest, ManifestText(snapshot_)));
  PS_RETURN_IF_ERROR(RemoveSnapshot(files_, snapshot_.folder));
  return files_->Rename(unfinished_, snapshot_.folder);
}

absl::StatusOr<std::vector<int64_t>> ListSnapshots(Files* files,
                                                   const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = files->List(folder);
  if (absl::IsNotFound(names.status())) return std::vector<int64_t>();
  PS_RETURN_IF_ERROR(names.status());
  std::vector<int64_t> numbers;
  for (absl::string_view name : *names) {
    int64_t number = 0;
    if (absl::ConsumePrefix(&name, kPrefix) &&
        absl::SimpleAtoi(name, &number) && number >= 0) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

absl::StatusOr<Snapshot> OpenSnapshot(Files* files, const std::string& folder,
                                      int64_t number) {
  Snapshot snapshot;
  snapshot.folder = FolderOf(folder, number);
  const std::string path = absl::StrCat(snapshot.folder, "/", kManifest);
  PS_ASSIGN_OR_RETURN(const std::string text, files->Read(path));
  absl::string_view rest = text;
  const size_t line = rest.find('\n');
  if (!absl::ConsumePrefix(&rest, kFirstWords) ||
      line == absl::string_view::npos) {
    return Damaged(path, absl::StrCat("does not begin with \"", kFirstWords,
                                      "\" and a checksum"));
  }
  const absl::string_view body = absl::string_view(text).substr(line + 1);
  if (rest.substr(0, rest.find('\n')) !=
      absl::StrFormat("%08x", Crc32c(body))) {
    return Damaged(path, "does not have its checksum");
  }
  if (!TakeFields(ParseJson(body), &snapshot) || snapshot.number != number) {
    return Damaged(path, "lacks fields or has another number");
  }
  return snapshot;
}

absl::StatusOr<std::string> ReadPart(Files* files, const Snapshot& snapshot,
                                     const std::string& name) {
  const std::string path = absl::StrCat(snapshot.folder, "/", name);
  const auto part =
      std::find_if(snapshot.parts.begin(), snapshot.parts.end(),
                   [&](const SnapshotPart& each) { return each.name == name; });
  if (part == snapshot.parts.end()) {
    return absl::NotFoundError(
        absl::StrCat(snapshot.folder, " was saved without ", name));
  }
  absl::StatusOr<std::string> bytes = files->Read(path);
  if (absl::IsNotFound(bytes.status())) return Damaged(path, "is missing");
  PS_RETURN_IF_ERROR(bytes.status());
  if (static_cast<int64_t>(bytes->size()) != part->size_bytes) {
    return Damaged(path, absl::StrCat("has ", bytes->size(), " bytes; ",
                                      part->size_bytes, " were saved"));
  }
  if (Crc32c(*bytes) != part->crc32c) {
    return Damaged(path, "does not have its checksum");
  }
  return bytes;
}

absl::Status VerifySnapshot(Files* files, const std::string& folder,
                            int64_t number) {
  PS_ASSIGN_OR_RETURN(const Snapshot snapshot,
                      OpenSnapshot(files, folder, number));
  for (const SnapshotPart& part : snapshot.parts) {
    PS_RETURN_IF_ERROR(ReadPart(files, snapshot, part.name).status());
  }
  return absl::OkStatus();
}

absl::Status RemoveNewer(Files* files, const std::string& folder,
                         int64_t number) {
  PS_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                      ListSnapshots(files, folder));
  for (const int64_t newer : numbers) {
    if (newer <= number) continue;
    PS_RETURN_IF_ERROR(RemoveSnapshot(files, FolderOf(folder, newer)));
  }
  return absl::OkStatus();
}

absl::Status RemoveOlder(Files* files, const std::string& folder, int keep,
                         int64_t needed) {
  PS_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers,
                      ListSnapshots(files, folder));
  const auto size = static_cast<int>(numbers.size());
  for (int i = 0; i < size - keep && numbers[i] < needed; ++i) {
    PS_RETURN_IF_ERROR(RemoveSnapshot(files, FolderOf(folder, numbers[i])));
  }
  const absl::StatusOr<std::vector<std::string>> names = files->List(folder);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  PS_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (!absl::StartsWith(name, kPrefix) ||
        !absl::EndsWith(name, kUnfinished)) {
      continue;
    }
    PS_RETURN_IF_ERROR(files->Remove(absl::StrCat(folder, "/", name)));
  }
  return absl::OkStatus();
}

}  // namespace ps
