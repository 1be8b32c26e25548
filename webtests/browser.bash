# What the tests in a browser need: Chromium, and the packages of package.json. To be sourced, from this folder.

browser=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$browser" ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "webtests: no $browser: install Debian's package chromium, or set CHROMIUM" >&2
        exit 2
    fi
    echo "webtests: installing chromium" >&2
    apt-get update -q >/dev/null
    apt-get install -y -q --no-install-recommends chromium >/dev/null
fi
[ -x node_modules/.bin/tsc ] || npm ci --ignore-scripts --no-audit --no-fund --silent
