// What is behind a Projection.
#pragma once

#include "expr/expr.h"
#include "expr/path_trie.h"

namespace stator::expr {

struct ProjectionTree {
  Tree tree;
  std::vector<NodeId> paths;
  PathTrie trie;
};

// Appends the name and value of a map entry as they stand in the encoding.
void AppendEntry(std::string* out, const model::MapView::Entry& entry);

// The encoded item made of what `trie` selects of `item`; *count is the number of its top-level attributes.
std::string ProjectPaths(const Tree& tree, const PathTrie& trie, model::ItemView item, size_t* count);

}  // namespace stator::expr
