"""Prints a list of materials in CycloneDX 1.5: `packaging/release` says on standard input what the release is made of.

    sbom.py VERSION CONSOLE_PACKAGE_LOCK ROOT

ROOT: the system that the packages of Debian are installed in, / or a folder of packaging/sysroot.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid

ROOT = sys.argv[3]

def package_fields(package):
    """Returns version, architecture and source of an installed package of Debian."""
    fields = subprocess.run(
        ["dpkg-query", f"--admindir={ROOT}var/lib/dpkg", "-W", "-f", "${Version}\t${Architecture}\t${source:Package}", package],
        check=True, capture_output=True, text=True).stdout
    return fields.split("\t")


def licences_of(package):
    """Returns the short names of licences in the package's copyright file, if it has the form that machines read."""
    with open(f"{ROOT}usr/share/doc/{package}/copyright", encoding="utf-8") as file:
        text = file.read()
    if not text.startswith("Format:"):
        return []
    return sorted(set(re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)))


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def debian_component(name, package):
    version, architecture, source = package_fields(package)
    # A purl writes the epoch's colon and a plus sign as percent codes.
    purl_version = version.replace(":", "%3A").replace("+", "%2B")
    purl = f"pkg:deb/debian/{package.replace('+', '%2B')}@{purl_version}?arch={architecture}&distro=debian-12"
    component = {
        "type": "library", "bom-ref": f"{name} {purl}", "name": name, "version": version, "purl": purl,
        "properties": [{"name": "stator:debian-source", "value": source}],
    }
    licences = licences_of(package)
    if licences:
        component["licenses"] = [{"license": {"name": licence}} for licence in licences]
    return component


def main():
    version, lock_path = sys.argv[1:3]
    components = []
    server = {"type": "application", "bom-ref": "stator", "name": "stator", "version": version,
              "licenses": [{"license": {"id": "Apache-2.0"}}]}
    for line in sys.stdin:
        kind, *words = line.split()
        if kind == "binary":
            server["hashes"] = [{"alg": "SHA-256", "content": sha256(words[0])}]
        elif kind == "headers":
            component = debian_component(words[0], words[0])
            component["description"] = "headers that are compiled into the binary"
            components.append(component)
        else:
            name, package, path = words
            component = debian_component(name, package)
            component["description"] = "shared library"
            component["hashes"] = [{"alg": "SHA-256", "content": sha256(path)}]
            components.append(component)
    with open(lock_path, encoding="utf-8") as file:
        lock = json.load(file)
    for path, entry in lock["packages"].items():
        if path and not entry.get("dev"):
            name = path.split("node_modules/")[-1]
            components.append({
                "type": "library", "bom-ref": f"npm {name}", "name": name, "version": entry["version"],
                "purl": f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}",
                "description": "in the web console, which the binary carries",
                "licenses": [{"license": {"name": entry["license"]}}] if "license" in entry else [],
            })
    components.sort(key=lambda component: component["bom-ref"])
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "component": server,
        },
        "components": components,
        "dependencies": [{"ref": "stator", "dependsOn": [component["bom-ref"] for component in components]}],
    }
    # A number that is the same for the same content.
    digest = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'stator-sbom:' + hashlib.sha256(digest.encode()).hexdigest())}"
    print(json.dumps(document, indent=2, sort_keys=True))


main()
