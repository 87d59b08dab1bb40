// A shared block, as a training process makes it.
#ifndef TESTS_BRIDGE_BLOCK_FOR_TEST_H_
#define TESTS_BRIDGE_BLOCK_FOR_TEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "tensor/parameter_info.h"

namespace ps {

// The bytes up to the end of the table; offsets of tensors do not count.
std::string BlockHeader(const std::vector<ParameterInfo>& tensors);

// The bytes of a whole block with that header.
int64_t BlockBytes(const std::vector<ParameterInfo>& tensors);

// A memfd of this size that begins with these bytes.
UniqueFd MakeMemfd(const std::string& bytes, int64_t size, bool sealed = true);

UniqueFd MakeBlock(const std::vector<ParameterInfo>& tensors);

}  // namespace ps

#endif  // TESTS_BRIDGE_BLOCK_FOR_TEST_H_
