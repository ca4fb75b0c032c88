// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Which worker id an instance would like to have, by its place in a Kubernetes StatefulSet. It is a
// wish and never the proof: two pods with one ordinal get two worker ids.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace keymill::embed {

// 3 of "keymill-3". Nothing when the name does not end in a dash and a number.
std::optional<std::uint32_t> OrdinalOf(std::string_view name);

// By POD_INDEX (the label apps.kubernetes.io/pod-index), POD_NAME or the host's name, in this
// order.
std::optional<std::uint32_t> PreferredWorker();

}  // namespace keymill::embed
