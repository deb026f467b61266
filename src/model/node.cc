#include "model/node.h"

namespace stator::model {

Node Node::FromView(ValueView value) {
  Node node;
  node.kind_ = Kind::kEncoded;
  node.borrowed_ = value.encoded();
  return node;
}

Node Node::FromOwned(std::string encoded) {
  Node node;
  node.kind_ = Kind::kEncoded;
  node.owned_ = std::move(encoded);
  return node;
}

Node Node::FromMap(MapView map) {
  Node node;
  for (const MapView::Entry& entry : map) {
    node.map_.emplace_hint(node.map_.end(), std::string(entry.name), FromView(entry.value));
  }
  return node;
}

Type Node::type() const {
  switch (kind_) {
    case Kind::kMap: return Type::kM;
    case Kind::kList: return Type::kL;
    case Kind::kEncoded: break;
  }
  return view().type();
}

bool Node::OpenMap() {
  if (kind_ == Kind::kMap) return true;
  if (kind_ == Kind::kList || view().type() != Type::kM) return false;
  // Children of an owned node borrow from owned_, which stays where it is: it is moved with care
  // (small strings would move their bytes), so each child takes its own copy.
  const bool copy = !owned_.empty();
  for (const MapView::Entry& entry : view().map()) {
    map_.emplace_hint(map_.end(), std::string(entry.name),
                      copy ? FromOwned(std::string(entry.value.encoded())) : FromView(entry.value));
  }
  kind_ = Kind::kMap;
  owned_.clear();
  return true;
}

bool Node::OpenList() {
  if (kind_ == Kind::kList) return true;
  if (kind_ == Kind::kMap || view().type() != Type::kL) return false;
  const bool copy = !owned_.empty();
  for (ValueView element : view().list()) {
    list_.push_back(copy ? FromOwned(std::string(element.encoded())) : FromView(element));
  }
  kind_ = Kind::kList;
  owned_.clear();
  return true;
}

void Node::AppendEntries(std::string* out) const {
  for (const auto& [name, child] : map_) {
    AppendName(out, name);
    child.AppendTo(out);
  }
}

void Node::AppendTo(std::string* out) const {
  switch (kind_) {
    case Kind::kEncoded: out->append(view().encoded()); return;
    case Kind::kMap: {
      std::string entries;
      AppendEntries(&entries);
      AppendMap(out, map_.size(), entries);
      return;
    }
    case Kind::kList: {
      std::string elements;
      for (const Node& element : list_) element.AppendTo(&elements);
      AppendList(out, list_.size(), elements);
      return;
    }
  }
}

std::string Node::EncodeItem() const {
  std::string entries;
  AppendEntries(&entries);
  std::string item;
  item.reserve(entries.size() + 8);
  AppendItem(&item, map_.size(), entries);
  return item;
}

}  // namespace stator::model
