#include "expr/path_trie.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "expr/parse.h"

namespace stator::expr {

namespace {

enum class Relation { kApart, kOverlap, kConflict };

Relation Relate(const Tree& tree, const Node& a, const Node& b) {
  for (uint32_t i = 0; i < std::min(a.size, b.size); ++i) {
    const Step& x = tree.steps[a.begin + i];
    const Step& y = tree.steps[b.begin + i];
    if (x.is_index != y.is_index) return Relation::kConflict;
    if (x.is_index ? x.begin != y.begin : tree.Name(x) != tree.Name(y)) return Relation::kApart;
  }
  return Relation::kOverlap;
}

// The paths seen so far, step by step: finds for one more path the first of them that it overlaps
// or conflicts with.
class Earlier {
 public:
  explicit Earlier(const Tree& tree) : tree_(tree) { places_.emplace_back(); }

  // Adds the path, and returns the lowest position of an earlier one that is related to it.
  std::optional<uint32_t> Add(const Node& path, uint32_t position, Relation relation) {
    uint32_t first = kNone;
    uint32_t place = 0;
    for (uint32_t i = 0; i < path.size; ++i) {
      const Step& step = tree_.steps[path.begin + i];
      // A path that ends here is a part of this one; one that goes on with the other kind of step
      // is in conflict.
      if (relation == Relation::kOverlap) first = std::min(first, places_[place].ends);
      if (relation == Relation::kConflict)
        first = std::min(first, step.is_index ? places_[place].by_name : places_[place].by_index);
      uint32_t& through = step.is_index ? places_[place].by_index : places_[place].by_name;
      through = std::min(through, position);
      const auto [next, is_new] =
          next_.try_emplace({place, step.is_index, step.is_index ? step.begin : 0,
                             step.is_index ? std::string_view() : tree_.Name(step)},
                            static_cast<uint32_t>(places_.size()));
      place = next->second;
      if (is_new) places_.emplace_back();
    }
    Place& last = places_[place];
    if (relation == Relation::kOverlap)
      first = std::min({first, last.ends, last.by_name, last.by_index});
    last.ends = std::min(last.ends, position);
    return first == kNone ? std::nullopt : std::optional(first);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Place {  // lowest positions of the paths that end here or go on from here
    uint32_t ends = kNone;
    uint32_t by_name = kNone;
    uint32_t by_index = kNone;
  };
  const Tree& tree_;
  std::vector<Place> places_;
  std::map<std::tuple<uint32_t, bool, uint32_t, std::string_view>, uint32_t> next_;
};

// The first pair in the order of the text.
Error DescribeFirst(std::string_view parameter, const Tree& tree, const std::vector<NodeId>& paths,
                    Relation relation) {
  Earlier earlier(tree);
  for (uint32_t second = 0; second < paths.size(); ++second) {
    const Node& two = tree.nodes[paths[second]];
    const std::optional<uint32_t> first = earlier.Add(two, second, relation);
    if (!first) continue;
    const Node& one = tree.nodes[paths[*first]];
    return InvalidExpression(
        parameter, std::string("Two document paths ") +
                       (relation == Relation::kOverlap ? "overlap" : "conflict") +
                       " with each other; must remove or rewrite one of these paths; path one: " +
                       DescribePath(tree, one) + ", path two: " + DescribePath(tree, two));
  }
  return InternalError("paths are related and are not");
}

class Builder {
 public:
  Builder(const Tree& tree, const std::vector<NodeId>& paths, const std::vector<uint32_t>& order,
          PathTrie* trie)
      : tree_(tree), paths_(paths), order_(order), trie_(trie) {}

  // Makes the children of `parent` from order_[begin, end), which agree in their first `depth`
  // steps. Recursion ends at the depth of the deepest path, 32.
  void Build(uint32_t parent, size_t begin, size_t end, uint32_t depth) {
    struct Group {
      size_t begin, end;
    };
    std::vector<Group> groups;
    for (size_t i = begin; i < end; ++i) {
      if (groups.empty() || !Same(StepAt(i, depth), StepAt(i - 1, depth))) groups.push_back({i, i});
      groups.back().end = i + 1;
    }
    const auto first = static_cast<uint32_t>(trie_->nodes.size());
    trie_->nodes[parent].first_child = first;
    trie_->nodes[parent].child_count = static_cast<uint32_t>(groups.size());
    for (const Group& group : groups) {
      PathTrie::Node node;
      node.step = StepAt(group.begin, depth);
      if (PathAt(group.begin).size == depth + 1) node.leaf = order_[group.begin];
      trie_->nodes.push_back(node);
    }
    for (uint32_t i = 0; i < groups.size(); ++i) {
      if (!trie_->nodes[first + i].is_leaf())
        Build(first + i, groups[i].begin, groups[i].end, depth + 1);
    }
  }

 private:
  const Node& PathAt(size_t i) const { return tree_.nodes[paths_[order_[i]]]; }
  const Step& StepAt(size_t i, uint32_t depth) const {
    return tree_.steps[PathAt(i).begin + depth];
  }
  bool Same(const Step& a, const Step& b) const {
    return a.is_index == b.is_index &&
           (a.is_index ? a.begin == b.begin : tree_.Name(a) == tree_.Name(b));
  }

  const Tree& tree_;
  const std::vector<NodeId>& paths_;
  const std::vector<uint32_t>& order_;
  PathTrie* trie_;
};

}  // namespace

Status BuildPathTrie(std::string_view parameter, const Tree& tree, const std::vector<NodeId>& paths,
                     PathTrie* trie) {
  std::vector<uint32_t> order(paths.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int relation = ComparePaths(tree, tree.nodes[paths[a]], tree.nodes[paths[b]]);
    return relation != 0 ? relation < 0 : a < b;
  });
  // Sorted, a path is followed by one that continues it if there is any, and where names meet
  // indexes two neighbours conflict: looking at neighbours is enough to know whether there is
  // something to report.
  bool overlap = false;
  bool conflict = false;
  for (size_t i = 1; i < order.size(); ++i) {
    const Relation relation =
        Relate(tree, tree.nodes[paths[order[i - 1]]], tree.nodes[paths[order[i]]]);
    overlap |= relation == Relation::kOverlap;
    conflict |= relation == Relation::kConflict;
  }
  if (overlap) return DescribeFirst(parameter, tree, paths, Relation::kOverlap);
  if (conflict) return DescribeFirst(parameter, tree, paths, Relation::kConflict);
  trie->nodes.clear();
  trie->nodes.emplace_back();
  if (!paths.empty()) Builder(tree, paths, order, trie).Build(0, 0, order.size(), 0);
  return OkStatus();
}

}  // namespace stator::expr
