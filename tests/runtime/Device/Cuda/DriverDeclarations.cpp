// SPDX-License-Identifier: Apache-2.0
///
/// Compares the runtime's declarations of NVIDIA's driver with those of CUDA's header. The compiler
/// does; there is nothing to run.
#include "runtime/Device/Cuda/Driver.h"

#include <cstddef>
#include <cuda.h>
#include <type_traits>
#include <utility>

namespace heddle {
namespace {

/// Returns whether two parameters are passed alike: enumerations are integers, and pointers may be
/// of any type.
template <typename Declared, typename Own> constexpr bool isAlike() {
  if constexpr (std::is_pointer_v<Declared> && std::is_pointer_v<Own>) {
    return true;
  } else if constexpr (std::is_enum_v<Declared>) {
    return std::is_integral_v<Own> && sizeof(Declared) == sizeof(Own);
  } else if constexpr (std::is_integral_v<Declared> && std::is_integral_v<Own>) {
    return sizeof(Declared) == sizeof(Own) && std::is_signed_v<Declared> == std::is_signed_v<Own>;
  } else {
    return std::is_same_v<Declared, Own>;
  }
}

template <typename... Declared, typename... Own>
constexpr bool areAlike(CUresult (*)(Declared...), DriverFunction<Own...>) {
  if constexpr (sizeof...(Declared) == sizeof...(Own)) {
    return (isAlike<Declared, Own>() && ...);
  } else {
    return false;
  }
}

#define HEDDLE_CUDA(name, ...)                                                                     \
  static_assert(areAlike(&::name, DriverFunction<__VA_ARGS__>{#name, nullptr}), #name);
#include "runtime/Device/Cuda/DriverFunctions.def"

#define HEDDLE_SAME(own, declared) static_assert(int(own) == int(declared), #declared)
HEDDLE_SAME(cudaCode::success, CUDA_SUCCESS);
HEDDLE_SAME(cudaCode::outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
HEDDLE_SAME(cudaCode::noDevice, CUDA_ERROR_NO_DEVICE);
HEDDLE_SAME(cudaCode::invalidImage, CUDA_ERROR_INVALID_IMAGE);
HEDDLE_SAME(cudaCode::noBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
HEDDLE_SAME(cudaCode::eccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
HEDDLE_SAME(cudaCode::invalidPtx, CUDA_ERROR_INVALID_PTX);
HEDDLE_SAME(cudaCode::jitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
HEDDLE_SAME(cudaCode::unsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
HEDDLE_SAME(cudaCode::jitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED);
HEDDLE_SAME(cudaCode::notFound, CUDA_ERROR_NOT_FOUND);
HEDDLE_SAME(cudaCode::illegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
HEDDLE_SAME(cudaCode::launchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
HEDDLE_SAME(cudaCode::contextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
HEDDLE_SAME(cudaCode::deviceAssert, CUDA_ERROR_ASSERT);
HEDDLE_SAME(cudaCode::hardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
HEDDLE_SAME(cudaCode::launchFailed, CUDA_ERROR_LAUNCH_FAILED);
HEDDLE_SAME(cudaCode::unknown, CUDA_ERROR_UNKNOWN);
HEDDLE_SAME(cudaAttribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
HEDDLE_SAME(cudaAttribute::capabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
HEDDLE_SAME(cudaAttribute::capabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
HEDDLE_SAME(cudaAttribute::sharedOfBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
HEDDLE_SAME(cudaJit::errorLog, CU_JIT_ERROR_LOG_BUFFER);
HEDDLE_SAME(cudaJit::errorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
HEDDLE_SAME(cudaDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
HEDDLE_SAME(cudaStreamNonBlocking, CU_STREAM_NON_BLOCKING);
HEDDLE_SAME(cudaEventWithoutTime, CU_EVENT_DISABLE_TIMING);
HEDDLE_SAME(cudaCaptureOfThread, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
HEDDLE_SAME(cudaMemoryHost, CU_MEMORYTYPE_HOST);
HEDDLE_SAME(cudaMemoryDevice, CU_MEMORYTYPE_DEVICE);

#define HEDDLE_AT(own, declared)                                                                   \
  static_assert(offsetof(CudaCopy2D, own) == offsetof(CUDA_MEMCPY2D, declared), #declared)
HEDDLE_AT(from.x, srcXInBytes);
HEDDLE_AT(from.y, srcY);
HEDDLE_AT(from.memoryType, srcMemoryType);
HEDDLE_AT(from.host, srcHost);
HEDDLE_AT(from.device, srcDevice);
HEDDLE_AT(from.array, srcArray);
HEDDLE_AT(from.pitch, srcPitch);
HEDDLE_AT(to.x, dstXInBytes);
HEDDLE_AT(to.y, dstY);
HEDDLE_AT(to.memoryType, dstMemoryType);
HEDDLE_AT(to.host, dstHost);
HEDDLE_AT(to.device, dstDevice);
HEDDLE_AT(to.array, dstArray);
HEDDLE_AT(to.pitch, dstPitch);
HEDDLE_AT(rowBytes, WidthInBytes);
HEDDLE_AT(rows, Height);
static_assert(sizeof(CudaCopy2D) == sizeof(CUDA_MEMCPY2D));

} // namespace
} // namespace heddle
