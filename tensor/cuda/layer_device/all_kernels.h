// Every kernel of the layers. A core's place here is how its type gets from a
// layer to the device that launches it (layer_device.h).
#ifndef TENSOR_CUDA_LAYER_DEVICE_ALL_KERNELS_H_
#define TENSOR_CUDA_LAYER_DEVICE_ALL_KERNELS_H_

#include "tensor/cuda/layer_device/kernel_list.h"
#include "tensor/cuda/nn/activation_cores.h"
#include "tensor/cuda/nn/adaptive_pooling_cores.h"
#include "tensor/cuda/nn/batch_norm_cores.h"
#include "tensor/cuda/nn/bias_cores.h"
#include "tensor/cuda/nn/channel_sum_cores.h"
#include "tensor/cuda/nn/convolution_cores.h"
#include "tensor/cuda/nn/dropout_core.h"
#include "tensor/cuda/nn/pooling_cores.h"
#include "tensor/cuda/nn/softmax_core.h"
#include "tensor/cuda/nn/subsampling_cores.h"
#include "tensor/cuda/sequences/cell_cores.h"
#include "tensor/cuda/sequences/embedding_cores.h"
#include "tensor/cuda/sequences/frame_window_cores.h"

namespace ps {

using AllKernels = KernelList<
    // tensor/cuda/nn
    AddToRowsCore, SumRowsPartCore, SumPartsCore, ReluCore, TanhCore,
    TanhGradientCore, SigmoidCore, SigmoidGradientCore, DropoutCore,
    MaxPoolCore, MaxPoolGradientCore, AveragePoolCore, AveragePoolGradientCore,
    AdaptivePoolCore, AdaptivePoolGradientCore, PlaneMeanCore,
    PlaneMeanGradientCore, SubsampleCore, SubsampleGradientCore, SoftmaxCore,
    ChannelSumsCore<BiasTerms>, FinishBiasCore, ChannelSumsCore<ShiftedTerms>,
    FinishStatisticsCore, InferenceStatisticsCore, NormalizeCore,
    ChannelSumsCore<NormGradientTerms>, FinishNormGradientCore,
    NormInputGradientCore, ColumnsCore, ColumnsGradientCore, ChannelsFirstCore,
    ImagesFirstCore, AddToChannelsCore,
    // tensor/cuda/sequences
    TokenRowsCore, FirstNegativeCore, EmbeddingCore, EmbeddingKeysCore,
    EmbeddingGradientCore, FrameWindowCore, FrameWindowGradientCore,
    LstmForwardCore, LstmBackwardCore, GruForwardCore, GruBackwardCore>;

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_ALL_KERNELS_H_
