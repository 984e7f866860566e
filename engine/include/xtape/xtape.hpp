// All of xtape, but for display in notebooks and the xtensor bridge.
#pragma once

#include <xtape/build_info.hpp>
#include <xtape/grad.hpp>
#include <xtape/gradient_check.hpp>
#include <xtape/memory.hpp>
#include <xtape/npy.hpp>
#include <xtape/ops/attention.hpp>
#include <xtape/ops/compare.hpp>
#include <xtape/ops/elementwise.hpp>
#include <xtape/ops/fused.hpp>
#include <xtape/ops/layers.hpp>
#include <xtape/ops/linalg.hpp>
#include <xtape/ops/nn.hpp>
#include <xtape/ops/optim.hpp>
#include <xtape/ops/reduce.hpp>
#include <xtape/ops/shape.hpp>
#include <xtape/parameters.hpp>
#include <xtape/pictures.hpp>
#include <xtape/print.hpp>
#include <xtape/random.hpp>
#include <xtape/record.hpp>
#include <xtape/safetensors.hpp>
#include <xtape/tape.hpp>
#include <xtape/tensor.hpp>
#include <xtape/threads.hpp>
#include <xtape/trace.hpp>
