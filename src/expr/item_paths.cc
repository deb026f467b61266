#include "expr/item_paths.h"

namespace stator::expr {

namespace {

using model::Type;
using model::ValueView;

// Returns where the count of a list or map stands.
const char* CountOf(ValueView value) {
  const char* p = value.encoded().data() + 1;
  model::ReadVarint(&p);
  return p;
}

}  // namespace

uint64_t ItemPaths::MostSteps(const Tree& tree, size_t item_bytes) {
  const uint64_t steps = tree.steps.size();
  if (item_bytes <= kSmallItem || steps <= kFewSteps)
    return steps * (1 + item_bytes / kBytesPerStep);
  // An entry has at least two bytes, of which a search looks at most at 20 of 400 KB.
  return item_bytes / 2 + steps * (2 + 32);
}

const ItemPaths::Offsets& ItemPaths::OffsetsOf(const char* counted, bool is_map) {
  if (containers_ == nullptr)
    containers_ = std::make_unique<std::unordered_map<const char*, Offsets>>();
  const auto [place, is_new] = containers_->try_emplace(counted);
  Offsets& offsets = place->second;
  ++steps_;
  if (!is_new) return offsets;
  offsets = model::OffsetsOfEntries(counted, is_map);
  steps_ += offsets.size();
  return offsets;
}

ValueView ItemPaths::FindName(const char* counted, std::string_view name) {
  return model::FindByOffsets(counted, OffsetsOf(counted, true), name, &steps_);
}

ValueView ItemPaths::FindElement(const char* counted, uint32_t index) {
  const Offsets& offsets = OffsetsOf(counted, false);
  return index < offsets.size() ? ValueView(counted + offsets[index]) : ValueView();
}

ValueView ItemPaths::FindIndexed(const Node& path) {
  const Step* step = &tree_.steps[path.begin];
  const Step* const end = step + path.size;
  const char* p = item_.encoded().data();
  model::ReadVarint(&p);
  ValueView value = FindName(p, tree_.Name(*step));
  for (++step; step != end && !value.empty(); ++step) {
    if (value.type() != (step->is_index ? Type::kL : Type::kM)) return {};
    const char* counted = CountOf(value);
    value =
        step->is_index ? FindElement(counted, step->begin) : FindName(counted, tree_.Name(*step));
  }
  return value;
}

}  // namespace stator::expr
