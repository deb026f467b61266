// Applies an update expression to an item.
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "expr/item_paths.h"
#include "expr/projection.h"
#include "expr/update.h"

namespace stator::expr {

namespace {

using model::Type;
using model::ValueView;

Error WrongType() {
  return ValidationError("An operand in the update expression has an incorrect data type");
}
// Returns the error for a wrong type in ADD or DELETE. AttributeUpdates has its own text, seen at
// DynamoDB Local.
Error WrongType(const Action& action) {
  return action.legacy ? ValidationError("Type mismatch for attribute to update") : WrongType();
}
Error InvalidPath() {
  return ValidationError(
      "The document path provided in the update expression is invalid for update");
}

// Appends the elements of a list, one behind the other.
void AppendElements(model::ListView list, std::string* out) {
  for (const ValueView element : list) out->append(element.encoded());
}

Error TooLarge() { return ValidationError(std::string(kUpdatedItemTooLarge)); }

// Counts the bytes of the values that an update writes, before they are copied. Once the sum
// exceeds the largest item, the update is certain to be refused: later actions are then checked as
// usual, but not computed.
class Budget {
 public:
  bool spent() const { return bytes_ > model::kMaxItemBytes; }
  // Counts `bytes` of a new value. Returns false if they do not fit into the item's maximum size.
  bool Take(size_t bytes) {
    bytes_ += bytes;
    return !spent();
  }
  bool Take(ValueView value) { return !spent() && Take(model::ValueSizeBytes(value)); }

 private:
  size_t bytes_ = 0;
};

// The right-hand sides, computed from the item as it was.
class Values {
 public:
  Values(const Tree& tree, model::ItemView item) : tree_(tree), paths_(tree, item) {}

  // The view lives as long as this object, the item and the tree. Nesting is bounded by the number
  // of operators.
  Result<ValueView> Get(const Node& node) {
    switch (node.op) {
      case Op::kValue: return tree_.Value(node);
      case Op::kPath: {
        const ValueView value = paths_.Find(node);
        if (value.empty()) {
          return ValidationError(
              "The provided expression refers to an attribute that does not exist in the item");
        }
        return value;
      }
      case Op::kIfNotExists: {
        const ValueView value = paths_.Find(tree_.Child(node));
        if (!value.empty()) return value;
        return Get(tree_.Next(tree_.Child(node)));
      }
      default: break;
    }
    ASSIGN_OR_RETURN(const ValueView left, Get(tree_.Child(node)));
    ASSIGN_OR_RETURN(const ValueView right, Get(tree_.Next(tree_.Child(node))));
    if (node.op == Op::kListAppend) return AppendLists(left, right);
    return Sum(left, right, node.op == Op::kMinus);
  }

  Result<ValueView> AppendLists(ValueView left, ValueView right) {
    if (left.type() != Type::kL || right.type() != Type::kL) return WrongType();
    // The operand stands for a result that would be larger still.
    if (!Fits(left) || !Fits(right)) return left;
    std::string elements;
    AppendElements(left.list(), &elements);
    AppendElements(right.list(), &elements);
    std::string encoded;
    model::AppendList(&encoded, left.list().size() + right.list().size(), elements);
    return Keep(std::move(encoded));
  }

  Result<ValueView> Sum(ValueView left, ValueView right, bool subtract) {
    if (left.type() != Type::kN || right.type() != Type::kN) return WrongType();
    ASSIGN_OR_RETURN(const model::Number sum,
                     subtract ? model::Number::Subtract(left.number(), right.number())
                              : model::Number::Add(left.number(), right.number()));
    std::string encoded;
    model::AppendNumber(&encoded, sum);
    return Keep(std::move(encoded));
  }

  ValueView Union(ValueView left, ValueView right) {
    if (!Fits(left) || !Fits(right)) return left;
    std::vector<std::string_view> members;
    members.reserve(left.set().size() + right.set().size());
    for (const std::string_view member : left.set()) members.push_back(member);
    for (const std::string_view member : right.set()) members.push_back(member);
    std::string encoded;
    model::AppendSet(&encoded, left.type(), std::move(members));
    return Keep(std::move(encoded));
  }

  Budget& budget() { return budget_; }

  // Empty if nothing is left.
  ValueView Difference(ValueView left, ValueView right) {
    const std::vector<std::string_view>& taken = SortedMembers(right);
    std::vector<std::string_view> members;
    members.reserve(left.set().size());
    for (const std::string_view member : left.set()) {
      if (!std::binary_search(taken.begin(), taken.end(), member)) members.push_back(member);
    }
    if (members.empty()) return {};
    std::string encoded;
    model::AppendSet(&encoded, left.type(), std::move(members));
    return Keep(std::move(encoded));
  }

 private:
  // A computed value has its operands' bytes in it: if one is above the largest item, so is the
  // value, and so the item. The sum of all values tells the
  // rest.
  bool Fits(ValueView operand) {
    return !budget_.spent() && (model::ValueSizeBytes(operand) <= model::kMaxItemBytes ||
                                budget_.Take(model::kMaxItemBytes + 1));
  }

  // Sorted bytewise. Several actions may name one operand: it is sorted once.
  const std::vector<std::string_view>& SortedMembers(ValueView set) {
    const auto [place, is_new] = sorted_.try_emplace(set.encoded().data());
    std::vector<std::string_view>& members = place->second;
    if (is_new) {
      members.reserve(set.set().size());
      for (const std::string_view member : set.set()) members.push_back(member);
      std::sort(members.begin(), members.end());
    }
    return members;
  }

  ValueView Keep(std::string encoded) {
    return ValueView(std::string_view(kept_.emplace_back(std::move(encoded))));
  }

  const Tree& tree_;
  ItemPaths paths_;
  Budget budget_;
  std::deque<std::string> kept_;  // computed values; addresses are stable
  std::unordered_map<const char*, std::vector<std::string_view>> sorted_;
};

// Writes the new item in one pass over the old one, entry by entry: what no path touches is copied
// as it stands. Recursion is as deep as paths are, at most 32.
class Rewriter {
 public:
  Rewriter(const UpdateTree& update, Values* values, bool item_is_missing)
      : update_(update), values_(values), item_is_missing_(item_is_missing) {}

  // Whether the result is larger than an item may be; then it is not complete.
  bool too_large() const { return values_->budget().spent(); }

  // Evaluates all right-hand sides of SET.
  Status Prepare() {
    sets_.resize(update_.actions.size());
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (update_.actions[i].kind != Action::kSet) continue;
      ASSIGN_OR_RETURN(sets_[i], values_->Get(update_.tree.nodes[update_.actions[i].value]));
      values_->budget().Take(sets_[i]);
    }
    return OkStatus();
  }

  Status Entries(model::MapView old, const PathTrie::Node& node, int depth, std::string* out,
                 size_t* count) {
    const PathTrie::Node* child = update_.trie.begin(node);
    const PathTrie::Node* const end = update_.trie.end(node);
    for (const auto& entry : old) {
      int order = -1;
      while (child != end && (order = update_.tree.Name(child->step).compare(entry.name)) < 0) {
        TRY(Entry(ValueView(), *child++, depth, out, count));
      }
      if (child == end || order > 0) {
        AppendEntry(out, entry);
        ++*count;
      } else {
        TRY(Entry(entry.value, *child++, depth, out, count));
      }
    }
    for (; child != end; ++child) TRY(Entry(ValueView(), *child, depth, out, count));
    return OkStatus();
  }

 private:
  // One touched entry of a map; `old` is empty if it is missing.
  Status Entry(ValueView old, const PathTrie::Node& node, int depth, std::string* out,
               size_t* count) {
    const size_t before = out->size();
    model::AppendName(out, update_.tree.Name(node.step));
    ASSIGN_OR_RETURN(const bool present, Value(old, node, depth, out));
    if (present) {
      ++*count;
    } else {
      out->resize(before);
    }
    return OkStatus();
  }

  Status Elements(model::ListView old, const PathTrie::Node& node, int depth, std::string* out,
                  size_t* count) {
    const PathTrie::Node* child = update_.trie.begin(node);
    const PathTrie::Node* const end = update_.trie.end(node);
    uint32_t index = 0;
    for (const ValueView element : old) {
      if (child != end && child->step.begin == index) {
        ASSIGN_OR_RETURN(const bool present, Value(element, *child++, depth, out));
        *count += present;
      } else {
        out->append(element.encoded());
        ++*count;
      }
      ++index;
    }
    // Beyond the end: new elements follow each other in the order of their indexes, gaps do not
    // count.
    for (; child != end; ++child) {
      ASSIGN_OR_RETURN(const bool present, Value(ValueView(), *child, depth, out));
      *count += present;
    }
    return OkStatus();
  }

  // Appends the new value that the update makes of `old` (empty: missing), which is `depth` steps
  // below the item. Returns false if there is no value afterwards.
  Result<bool> Value(ValueView old, const PathTrie::Node& node, int depth, std::string* out) {
    if (node.is_leaf()) {
      ASSIGN_OR_RETURN(const ValueView value, Act(old, node.leaf));
      if (value.empty()) return false;
      // The item counts as one level. At the top level the request's own checks have seen the depth
      // already.
      if (!too_large() && depth > 1 && depth + ContainerLevels(value) > model::kMaxNestingDepth) {
        return ValidationError(
            "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
            "levels beyond supported limit");
      }
      const bool counted = update_.actions[node.leaf].kind == Action::kSet;
      if (counted ? !too_large() : values_->budget().Take(value)) out->append(value.encoded());
      return true;
    }
    const bool wants_list = update_.trie.begin(node)->step.is_index;
    if (old.empty() || old.type() != (wants_list ? Type::kL : Type::kM)) {
      if (item_is_missing_ && OnlyRemovesBelow(node) && old.empty()) return false;
      return InvalidPath();
    }
    std::string parts;
    size_t count = 0;
    if (wants_list) {
      TRY(Elements(old.list(), node, depth + 1, &parts, &count));
      model::AppendList(out, count, parts);
    } else {
      TRY(Entries(old.map(), node, depth + 1, &parts, &count));
      model::AppendMap(out, count, parts);
    }
    return true;
  }

  // The new value at the target of an action, empty if there is none.
  Result<ValueView> Act(ValueView old, uint32_t position) {
    const Action& action = update_.actions[position];
    if (action.kind == Action::kSet) return sets_[position];
    if (action.kind == Action::kRemove) return ValueView();
    const ValueView operand = update_.tree.Value(update_.tree.nodes[action.value]);
    if (action.kind == Action::kDelete) {
      if (old.empty()) return old;
      if (old.type() != operand.type()) return WrongType(action);
      return values_->Difference(old, operand);
    }
    if (old.empty()) return operand;
    if (old.type() != operand.type()) return WrongType(action);
    switch (old.type()) {
      case Type::kN: return values_->Sum(old, operand, false);
      case Type::kSS:
      case Type::kNS:
      case Type::kBS: return values_->Union(old, operand);
      case Type::kL:
        if (action.legacy) return values_->AppendLists(old, operand);
        [[fallthrough]];
      default: return WrongType(action);
    }
  }

  bool OnlyRemovesBelow(const PathTrie::Node& node) const {
    if (node.is_leaf()) return update_.actions[node.leaf].kind == Action::kRemove;
    return std::all_of(update_.trie.begin(node), update_.trie.end(node),
                       [this](const PathTrie::Node& child) { return OnlyRemovesBelow(child); });
  }

  const UpdateTree& update_;
  Values* values_;
  const bool item_is_missing_;
  std::vector<ValueView> sets_;  // by position of the action
};

}  // namespace

int ContainerLevels(ValueView value) {
  int deepest = 0;
  if (value.type() == Type::kL) {
    for (const ValueView element : value.list())
      deepest = std::max(deepest, ContainerLevels(element));
  } else if (value.type() == Type::kM) {
    for (const auto& entry : value.map()) deepest = std::max(deepest, ContainerLevels(entry.value));
  } else {
    return 0;
  }
  return deepest + 1;
}

uint64_t MostSteps(const Update& update, size_t item_bytes) {
  if (!update.present()) return 0;
  const UpdateTree& tree = *update.tree();
  // Entries are copied one by one; members of sets and elements of lists are visited and sorted.
  const size_t bytes = item_bytes + tree.tree.text.size();
  const auto visits = [&](const Action& action) {
    if (action.kind == Action::kRemove) return false;
    const Node& value = tree.tree.nodes[action.value];
    return value.op == Op::kListAppend ||
           (action.kind != Action::kSet && tree.tree.Value(value).type() != Type::kN);
  };
  const bool sorts = std::any_of(tree.actions.begin(), tree.actions.end(), visits);
  return ItemPaths::MostSteps(tree.tree, item_bytes) + tree.tree.nodes.size() +
         (sorts ? bytes : bytes / 4);
}

Result<Updated> ApplyUpdate(const Update& update, model::ItemView old_item, model::ItemView key) {
  const bool missing = !old_item.exists();
  // Right-hand sides see the key attributes even when the item is new.
  const model::ItemView base = missing ? key : old_item;
  if (!update.present()) return Updated{.item = std::string(base.encoded())};
  const UpdateTree& tree = *update.tree();
  Values values(tree.tree, base);
  Rewriter rewriter(tree, &values, missing);
  TRY(rewriter.Prepare());
  std::string entries;
  entries.reserve(base.encoded().size() + 64);
  size_t count = 0;
  TRY(rewriter.Entries(base.attributes(), tree.trie.root(), 1, &entries, &count));
  if (missing && OnlyRemoves(update)) return Updated{.removes_only_on_missing_item = true};
  if (rewriter.too_large()) return TooLarge();
  Updated updated;
  model::AppendItem(&updated.item, count, entries);
  return updated;
}

}  // namespace stator::expr
