#include "tests/kernels/machine_code.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// One instruction of sm_70 and later: 16 bytes. Only the operation and the bits
// for scheduling are read here (Jia et al., "Dissecting the NVIDIA Volta GPU
// architecture via microbenchmarking", 2018, section 2.1).
//
// A load names one of six barriers, and an instruction that needs the result
// waits for that barrier.
class Instruction {
 public:
  explicit Instruction(const char* bytes) {
    std::memcpy(words_.data(), bytes, sizeof(words_));
  }

  bool LoadsMemory() const {
    // LD and LDG.
    return operation() == 0x980 || operation() == 0x981;
  }
  bool IsBarrierOfBlock() const { return operation() == 0xb1d; }  // BAR
  bool Returns() const { return operation() == 0x950; }           // RET
  bool StoresLocally() const { return operation() == 0x387; }     // STL
  // Whether the next instruction in memory is not the next one to run.
  bool Leaves() const {
    switch (operation()) {
      case 0x947:  // BRA has a second condition.
        return is_unconditional() && Bits(87, 4) == 7;
      case 0x943:  // CALL.ABS
      case 0x944:  // CALL.REL
      case 0x949:  // BRX
      case 0x94a:  // JMP
      case 0x94c:  // JMX
      case 0x94d:  // EXIT
      case 0x950:  // RET
        return is_unconditional();
    }
    return false;
  }
  // Bytes of a load or store of one thread.
  int NumBytes() const {
    constexpr int kBytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
    return kBytes[Bits(73, 3)];
  }
  // The barrier of its result; 7: none.
  int SetsBarrier() const { return static_cast<int>(Bits(110, 3)); }
  bool WaitsFor(int barrier) const {
    // DEPBAR waits for a number of results; treated as for all.
    return operation() == 0x91a || (Bits(116, 6) >> barrier & 1) != 0;
  }

 private:
  int operation() const { return static_cast<int>(Bits(0, 12)); }
  bool is_unconditional() const { return Bits(12, 4) == 7; }
  uint64_t Bits(int first, int count) const {
    return words_[first / 64] >> (first % 64) & ((uint64_t{1} << count) - 1);
  }

  std::array<uint64_t, 2> words_;
};

constexpr int64_t kInstructionBytes = 16;
constexpr int kBarriers = 6;

// Bytes of a batch that is not worth the name.
constexpr int kSmallBatch = 8;

// Sets the fields that describe loads. Follows the code in the order of memory,
// as if no condition for leaving it were true.
void FindBatches(absl::string_view code, KernelCode* kernel) {
  std::array<int, kBarriers> in_flight = {};
  bool grew = false;  // Loads were issued since the last wait.
  int in_turn = 0;
  const auto end_batch = [&] {
    if (!grew) return;
    const int bytes = std::accumulate(in_flight.begin(), in_flight.end(), 0);
    kernel->batches.push_back(bytes);
    in_turn = bytes <= kSmallBatch ? in_turn + 1 : 0;
    kernel->loads_in_turn = std::max(kernel->loads_in_turn, in_turn);
    grew = false;
  };
  for (size_t at = 0; at < code.size(); at += kInstructionBytes) {
    const Instruction instruction(code.data() + at);
    for (int barrier = 0; barrier < kBarriers; ++barrier) {
      if (in_flight[barrier] == 0 || !instruction.WaitsFor(barrier)) continue;
      end_batch();
      in_flight[barrier] = 0;
    }
    if (instruction.LoadsMemory() && instruction.SetsBarrier() < kBarriers) {
      in_flight[instruction.SetsBarrier()] += instruction.NumBytes();
      grew = true;
    }
    if (instruction.Leaves()) {
      end_batch();
      in_flight = {};
    }
    if (instruction.IsBarrierOfBlock() || instruction.Returns()) in_turn = 0;
  }
}

int64_t LocallyStored(absl::string_view code) {
  int64_t stored = 0;
  for (size_t at = 0; at < code.size(); at += kInstructionBytes) {
    const Instruction instruction(code.data() + at);
    if (instruction.StoresLocally()) stored += instruction.NumBytes();
  }
  return stored;
}

// "GridWorkKernel<SidcoWork>" for
// "void ps::GridWorkKernel<ps::SidcoWork>(ps::SidcoWork::Arguments, ...)".
std::string ShortName(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
      std::free);
  absl::string_view full = mangled;
  if (demangled != nullptr) full = demangled.get();
  absl::ConsumePrefix(&full, "void ");
  std::string name;
  int depth = 0;  // Of template arguments.
  for (size_t i = 0; i < full.size(); ++i) {
    for (const absl::string_view scope : {"ps::", "(anonymous namespace)::"}) {
      if (absl::StartsWith(full.substr(i), scope)) i += scope.size();
    }
    if (full[i] == '(' && depth == 0) break;
    depth += (full[i] == '<') - (full[i] == '>');
    name += full[i];
  }
  return name;
}

// Kinds of attributes: the registers of a kernel, after its symbol's number;
// and the extents of a block by the launch bounds.
constexpr uint8_t kRegistersOf = 0x2f;
constexpr uint8_t kMaxThreads = 5;

// The system takes this much of a block's shared memory; sm_90 counts it.
constexpr int64_t kSystemSharedBytes = 1024;

std::string AsBytes(uint32_t number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
}

int Number(absl::string_view bytes, int position) {
  int32_t number;
  std::memcpy(&number, bytes.data() + position * sizeof(number),
              sizeof(number));
  return number;
}

// A device's code in ELF, as ptxas writes it (EM_CUDA).
class Cubin {
 public:
  // `data` begins with the code's header, and may go on after its end.
  static absl::StatusOr<Cubin> Create(absl::string_view data) {
    Cubin cubin;
    cubin.data_ = data;
    std::memcpy(&cubin.header_, data.data(), sizeof(cubin.header_));
    const Elf64_Ehdr& header = cubin.header_;
    if (header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shstrndx >= header.e_shnum) {
      return absl::DataLossError("the code's header is not that of ELF");
    }
    PS_ASSIGN_OR_RETURN(const absl::string_view table,
                        cubin.Range(header.e_shoff, int64_t{header.e_shnum} *
                                                        header.e_shentsize));
    cubin.sections_.resize(header.e_shnum);
    std::memcpy(cubin.sections_.data(), table.data(), table.size());
    for (const Elf64_Shdr& section : cubin.sections_) {
      PS_ASSIGN_OR_RETURN(
          const absl::string_view name,
          cubin.Text(cubin.sections_[header.e_shstrndx], section.sh_name));
      cubin.by_name_[std::string(name)] = section;
    }
    return cubin;
  }

  absl::Status AppendKernels(std::vector<KernelCode>* kernels) const {
    for (const auto& [name, section] : by_name_) {
      absl::string_view kernel = name;
      if (!absl::ConsumePrefix(&kernel, ".text.")) continue;
      PS_ASSIGN_OR_RETURN(KernelCode code,
                          ReadKernel(std::string(kernel), section));
      kernels->push_back(std::move(code));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<absl::string_view> Range(uint64_t begin, uint64_t size) const {
    if (begin > data_.size() || size > data_.size() - begin) {
      return absl::DataLossError("the code ends beyond the file's end");
    }
    return data_.substr(begin, size);
  }
  absl::StatusOr<absl::string_view> Contents(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return absl::string_view();
    return Range(section.sh_offset, section.sh_size);
  }
  // The text at a position of a section of texts.
  absl::StatusOr<absl::string_view> Text(const Elf64_Shdr& texts,
                                         uint64_t position) const {
    PS_ASSIGN_OR_RETURN(absl::string_view text, Contents(texts));
    const size_t end = text.find('\0', position);
    if (end == absl::string_view::npos) {
      return absl::DataLossError("a name in the code does not end");
    }
    return text.substr(position, end - position);
  }

  absl::StatusOr<KernelCode> ReadKernel(const std::string& mangled,
                                        const Elf64_Shdr& section) const {
    KernelCode kernel;
    kernel.name = ShortName(mangled);
    // Since CUDA 13 (version 8 of the ABI) in the second byte.
    kernel.architecture = header_.e_ident[EI_ABIVERSION] >= 8
                              ? header_.e_flags >> 8 & 0xff
                              : header_.e_flags & 0xff;
    const auto shared = by_name_.find(absl::StrCat(".nv.shared.", mangled));
    if (shared != by_name_.end()) {
      kernel.shared_bytes =
          static_cast<int64_t>(shared->second.sh_size) -
          (kernel.architecture >= 90 ? kSystemSharedBytes : 0);
    }
    PS_ASSIGN_OR_RETURN(const Symbol symbol, SymbolOf(mangled));
    PS_ASSIGN_OR_RETURN(
        const std::string registers,
        Attribute(".nv.info", kRegistersOf, AsBytes(symbol.index)));
    PS_ASSIGN_OR_RETURN(const std::string threads,
                        Attribute(absl::StrCat(".nv.info.", mangled),
                                  kMaxThreads, /*begins_with=*/""));
    if (registers.size() < 8) {
      return absl::DataLossError(
          absl::StrCat("no number of registers of ", kernel.name));
    }
    kernel.registers = Number(registers, 1);
    kernel.max_threads =
        threads.size() < 12
            ? 0
            : Number(threads, 0) * Number(threads, 1) * Number(threads, 2);
    PS_ASSIGN_OR_RETURN(const absl::string_view code, Contents(section));
    const uint64_t own = symbol.own_bytes;
    if (own > code.size() || code.size() % kInstructionBytes != 0) {
      return absl::DataLossError(
          absl::StrCat(kernel.name, " has ", own, " bytes of ", code.size()));
    }
    FindBatches(code, &kernel);
    kernel.spilled_bytes = LocallyStored(code.substr(0, own));
    kernel.outlined_spilled_bytes = LocallyStored(code.substr(own));
    return kernel;
  }

  struct Symbol {
    uint32_t index = 0;
    // The kernel's code without that of the functions that it calls, which
    // follows in the same section.
    uint64_t own_bytes = 0;
  };
  absl::StatusOr<Symbol> SymbolOf(const std::string& mangled) const {
    Symbol kernel;
    std::map<uint32_t, uint64_t> first_callee;  // By section.
    uint32_t kernel_section = 0;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      PS_ASSIGN_OR_RETURN(const absl::string_view symbols, Contents(section));
      for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size();
           at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, symbols.data() + at, sizeof(symbol));
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
        PS_ASSIGN_OR_RETURN(const absl::string_view name,
                            Text(sections_[section.sh_link], symbol.st_name));
        if (name == mangled) {
          kernel.index = static_cast<uint32_t>(at / sizeof(symbol));
          kernel.own_bytes = symbol.st_size;
          kernel_section = symbol.st_shndx;
        } else if (symbol.st_value > 0) {
          uint64_t& first =
              first_callee.try_emplace(symbol.st_shndx, symbol.st_value)
                  .first->second;
          first = std::min<uint64_t>(first, symbol.st_value);
        }
      }
    }
    if (kernel.own_bytes == 0) {
      return absl::DataLossError(absl::StrCat("no symbol ", mangled));
    }
    const auto callee = first_callee.find(kernel_section);
    if (callee != first_callee.end()) {
      kernel.own_bytes = std::min(kernel.own_bytes, callee->second);
    }
    return kernel;
  }

  // The value of the first attribute of this kind that begins with these
  // bytes; empty if there is none. An attribute is a format, a kind, and 2
  // bytes, which are its value or, in one format, the size of what follows.
  absl::StatusOr<std::string> Attribute(const std::string& section,
                                        uint8_t kind,
                                        absl::string_view begins_with) const {
    constexpr uint8_t kSized = 4;
    const auto found = by_name_.find(section);
    if (found == by_name_.end()) return std::string();
    PS_ASSIGN_OR_RETURN(const absl::string_view info, Contents(found->second));
    for (size_t at = 0; at + 4 <= info.size();) {
      uint16_t size;
      std::memcpy(&size, info.data() + at + 2, sizeof(size));
      const bool sized = info[at] == kSized;
      const absl::string_view value = info.substr(at + 4, sized ? size : 0);
      if (sized && info[at + 1] == kind &&
          absl::StartsWith(value, begins_with)) {
        return std::string(value);
      }
      at += 4 + value.size();
    }
    return std::string();
  }

  absl::string_view data_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
  std::map<std::string, Elf64_Shdr> by_name_;
};

bool IsDeviceCode(absl::string_view data) {
  Elf64_Ehdr header;
  if (data.size() < sizeof(header)) return false;
  std::memcpy(&header, data.data(), sizeof(header));
  return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_CUDA;
}

}  // namespace

int KernelCode::LargestBatch() const {
  return batches.empty() ? 0
                         : *std::max_element(batches.begin(), batches.end());
}

int KernelCode::ResidentThreads() const {
  if (max_threads == 0) return 0;
  // Of sm_80 and sm_90 ("CUDA C++ Programming Guide", Compute Capabilities).
  constexpr int kThreads = 2048, kRegisters = 65536, kSharedBytes = 164 << 10;
  const int warps = (max_threads + 31) / 32;
  const int warp_registers = (32 * registers + 255) / 256 * 256;
  int blocks =
      std::min(kThreads / max_threads, kRegisters / (warp_registers * warps));
  if (shared_bytes > 0) {
    blocks = std::min(
        blocks,
        static_cast<int>(kSharedBytes / (shared_bytes + kSystemSharedBytes)));
  }
  return blocks * max_threads;
}

absl::StatusOr<std::vector<KernelCode>> ReadKernels(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  const absl::string_view contents = file;
  std::vector<KernelCode> kernels;
  // The file itself, and whatever it contains.
  for (size_t at = contents.find(ELFMAG); at != absl::string_view::npos;
       at = contents.find(ELFMAG, at + 1)) {
    if (!IsDeviceCode(contents.substr(at))) continue;
    PS_ASSIGN_OR_RETURN(const Cubin cubin, Cubin::Create(contents.substr(at)));
    PS_RETURN_IF_ERROR(cubin.AppendKernels(&kernels));
  }
  if (kernels.empty()) {
    return absl::NotFoundError(
        absl::StrCat(path, " has no kernels, or only compressed ones"));
  }
  return kernels;
}

std::string KernelTable(const std::vector<KernelCode>& kernels) {
  std::string table = absl::StrFormat(
      "%-60s %3s %9s %7s %8s %6s %7s %8s %9s %7s  %s\n", "kernel", "sm",
      "registers", "threads", "resident", "shared", "spilled", "outlined",
      "in flight", "in turn", "batches");
  for (const KernelCode& kernel : kernels) {
    // How often each size comes, largest first.
    std::map<int, int, std::greater<int>> sizes;
    for (const int bytes : kernel.batches) ++sizes[bytes];
    std::vector<std::string> batches;
    for (const auto& [bytes, count] : sizes) {
      batches.push_back(absl::StrCat(count, "x", bytes));
    }
    absl::StrAppendFormat(
        &table, "%-60s %3d %9d %7d %8d %6d %7d %8d %9d %7d  %s\n", kernel.name,
        kernel.architecture, kernel.registers, kernel.max_threads,
        kernel.ResidentThreads(), kernel.shared_bytes, kernel.spilled_bytes,
        kernel.outlined_spilled_bytes, kernel.LargestBatch(),
        kernel.loads_in_turn, absl::StrJoin(batches, " "));
  }
  return table;
}

}  // namespace ps
