// Every kernel of the layers. The index of a core in this list identifies its
// type between a layer and the device that launches it (layer_device.h).
#ifndef TENSOR_CUDA_LAYER_DEVICE_ALL_KERNELS_H_
#define TENSOR_CUDA_LAYER_DEVICE_ALL_KERNELS_H_

#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/kernel_list.h"
#include "tensor/cuda/nn/activation_cores.h"
#include "tensor/cuda/nn/adaptive_pooling_cores.h"
#include "tensor/cuda/nn/batch_norm_cores.h"
#include "tensor/cuda/nn/bias_cores.h"
#include "tensor/cuda/nn/channel_sum_cores.h"
#include "tensor/cuda/nn/convolution_cores.h"
#include "tensor/cuda/nn/dropout_core.h"
#include "tensor/cuda/nn/last_channel_convolution_cores.h"
#include "tensor/cuda/nn/pooling_cores.h"
#include "tensor/cuda/nn/reorder_cores.h"
#include "tensor/cuda/nn/softmax_core.h"
#include "tensor/cuda/nn/subsampling_cores.h"
#include "tensor/cuda/sequences/cell_cores.h"
#include "tensor/cuda/sequences/embedding_cores.h"
#include "tensor/cuda/sequences/frame_window_cores.h"
#include "tensor/cuda/sequences/step_reduction_cores.h"

namespace ps {

// Kernels that exist both for floats and for bfloat16.
template <template <typename> class Core>
using OfBothTypes = KernelList<Core<float>, Core<Bfloat16>>;

// Sums over channels, by packets and by single elements.
template <template <typename> class Terms>
using ChannelSums = KernelList<
    ChannelSumsCore<Terms<float>, 4>, ChannelSumsCore<Terms<float>, 1>,
    ChannelSumsCore<Terms<Bfloat16>, 8>, ChannelSumsCore<Terms<Bfloat16>, 1>>;

using AllKernels = JoinedKernels<
    // tensor/cuda/nn
    OfBothTypes<AddBiasCore>, OfBothTypes<ActivationCore>,
    OfBothTypes<ActivationGradientCore>, OfBothTypes<SumCore>,
    OfBothTypes<DropoutCore>, OfBothTypes<MaxPoolCore>,
    OfBothTypes<MaxPoolGradientCore>, OfBothTypes<AveragePoolCore>,
    OfBothTypes<AveragePoolGradientCore>, OfBothTypes<AdaptivePoolCore>,
    OfBothTypes<AdaptivePoolGradientCore>, OfBothTypes<PlaneMeanGradientCore>,
    OfBothTypes<SubsampleCore>, OfBothTypes<SubsampleGradientCore>,
    OfBothTypes<SoftmaxCore>, OfBothTypes<NormalizeOnlyCore>,
    OfBothTypes<NormalizeAndAddCore>, OfBothTypes<NormInputGradientCore>,
    OfBothTypes<PlainOrderCore>, ChannelSums<BiasTerms>,
    ChannelSums<ActivatedBiasTerms>, ChannelSums<ShiftedTerms>,
    ChannelSums<UnmaskedNormGradientTerms>,
    ChannelSums<NormGradientTermsByInput>,
    ChannelSums<NormGradientTermsByOutput>,
    KernelList<ConvertCore<float, Bfloat16>, ConvertCore<Bfloat16, float>,
               FinishChannelsCore<FinishBias>,
               FinishChannelsCore<FinishStatistics<float>>,
               FinishChannelsCore<FinishStatistics<Bfloat16>>,
               FinishChannelsCore<FinishNormGradient>, InferenceStatisticsCore,
               PlaneMeanCore, ChannelMeanCore<Bfloat16>, ColumnsCore,
               ColumnsGradientCore, ChannelsFirstCore, ImagesFirstCore,
               ChannelsLastCore, RowsCore, RowsGradientCore>,
    // tensor/cuda/sequences
    OfBothTypes<EmbeddingCore>, OfBothTypes<EmbeddingGradientCore>,
    OfBothTypes<FrameWindowCore>, OfBothTypes<FrameWindowGradientCore>,
    OfBothTypes<StepReductionCore>, OfBothTypes<StepReductionGradientCore>,
    OfBothTypes<LstmForwardCore>, OfBothTypes<LstmBackwardCore>,
    OfBothTypes<GruForwardCore>, OfBothTypes<GruBackwardCore>,
    KernelList<TokenRowsCore, FirstNegativeCore, EmbeddingKeysCore>>;

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_ALL_KERNELS_H_
