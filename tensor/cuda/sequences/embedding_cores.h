// Looking up rows of a table by number, and their gradients, added in the order
// of the tokens.
#ifndef TENSOR_CUDA_SEQUENCES_EMBEDDING_CORES_H_
#define TENSOR_CUDA_SEQUENCES_EMBEDDING_CORES_H_

#include <math.h>

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// rows[i]: the token as a row number, or -1 if it is not one. Count: tokens.
struct TokenRowsCore : ElementCore {
  static constexpr const char* kName = "TokenRows";
  const float* tokens;
  int64_t num_rows;
  int32_t* rows;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const float token = tokens[i];
    // Written so that NaN is rejected too.
    const bool valid = token >= 0 && token < static_cast<float>(num_rows) &&
                       token == floorf(token);
    rows[i] = valid ? static_cast<int32_t>(token) : -1;
  }
};

// The first position where rows[i] is negative, or n. Count: 1.
struct FirstNegativeCore : BlockCore {
  static constexpr const char* kName = "FirstNegative";
  static constexpr int kPhases = kBlockThreadsLog2 + 2;
  struct Shared {
    int64_t first[kBlockThreads];
  };
  const int32_t* rows;
  int64_t n;
  int64_t* result;

  PS_HOST_DEVICE void operator()(int phase, int64_t, int thread,
                                 Shared* shared) const {
    if (phase == 0) {
      int64_t first = n;
      for (int64_t i = thread; i < n && first == n; i += kBlockThreads) {
        if (rows[i] < 0) first = i;
      }
      shared->first[thread] = first;
    } else if (phase <= kBlockThreadsLog2) {
      const int half = kBlockThreads >> phase;
      if (thread < half) {
        shared->first[thread] =
            Smaller(shared->first[thread], shared->first[thread + half]);
      }
    } else if (thread == 0) {
      *result = shared->first[0];
    }
  }
};

// y[i, f] = table[rows[i], f]. Count: elements of y.
template <typename T>
struct EmbeddingCore : ElementCore {
  static constexpr const char* kName = "Embedding";
  Divisor features;
  const int32_t* rows;
  const float* table;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t feature = 0;
    const int64_t position = features.Divide(i, &feature);
    y[i] = table[rows[position] * features.value() + feature];
  }
};

// A key for sorting positions: first the row, then the position, so that all
// keys differ and their order is unique. Requires fewer than 2^32 tokens.
// Count: tokens.
struct EmbeddingKeysCore : ElementCore {
  static constexpr const char* kName = "EmbeddingKeys";
  const int32_t* rows;
  uint64_t* keys;

  static PS_HOST_DEVICE int64_t Row(uint64_t key) {
    return static_cast<int64_t>(key >> 32);
  }
  static PS_HOST_DEVICE int64_t Position(uint64_t key) {
    return static_cast<int64_t>(key & 0xffffffffu);
  }

  PS_HOST_DEVICE void operator()(int64_t i) const {
    keys[i] = (static_cast<uint64_t>(rows[i]) << 32) | static_cast<uint64_t>(i);
  }
};

// dtable[row, f] += dy[i, f] for each position of the row, in order. The thread
// of a row's first key adds up all of them. Count: elements of dy.
template <typename T>
struct EmbeddingGradientCore : ElementCore {
  static constexpr const char* kName = "EmbeddingGradient";
  Divisor features;
  const uint64_t* sorted_keys;
  int64_t num_keys;
  const T* dy;
  float* dtable;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t feature = 0;
    const int64_t first = features.Divide(i, &feature);
    const int64_t row = EmbeddingKeysCore::Row(sorted_keys[first]);
    if (first > 0 && EmbeddingKeysCore::Row(sorted_keys[first - 1]) == row) {
      return;
    }
    float sum = dtable[row * features.value() + feature];
    for (int64_t k = first; k < num_keys; ++k) {
      const uint64_t key = sorted_keys[k];
      if (EmbeddingKeysCore::Row(key) != row) break;
      sum += dy[EmbeddingKeysCore::Position(key) * features.value() + feature];
    }
    dtable[row * features.value() + feature] = sum;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_EMBEDDING_CORES_H_
