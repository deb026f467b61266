// A set of document paths of which none is part of another, as a tree: what projections and updates
// walk items with.
#pragma once

#include <vector>

#include "base/result.h"
#include "expr/tree.h"

namespace stator::expr {

struct PathTrie {
  struct Node {
    Step step;
    uint32_t first_child =
        0;  // children are adjacent, sorted: names bytewise or indexes ascending, never mixed
    uint32_t child_count = 0;
    uint32_t leaf = UINT32_MAX;  // the position among the paths given, for a node that ends one
    bool is_leaf() const { return leaf != UINT32_MAX; }
  };
  std::vector<Node> nodes;  // nodes[0] is the item itself
  const Node& root() const { return nodes[0]; }
  const Node* begin(const Node& node) const { return nodes.data() + node.first_child; }
  const Node* end(const Node& node) const { return begin(node) + node.child_count; }
};

// Refuses paths that overlap (one is a part of the other, or they are equal) and, if none do, paths
// that conflict (treat one attribute as a map and as a list).
Status BuildPathTrie(std::string_view parameter, const Tree& tree, const std::vector<NodeId>& paths,
                     PathTrie* trie);

}  // namespace stator::expr
