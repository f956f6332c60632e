#!/usr/bin/env bash
# Checks a page of `ckks-bench report --html`: valid HTML, nothing on the browser's console, nothing
# wider than a phone's screen; and takes pictures of it in both themes and two widths.
#
# Installs nothing. Needs Chromium (CHROMIUM, or chromium, chromium-browser, google-chrome on the
# path); without one it says so and ends with 77, which is no success and no failure. Validation
# needs `html-validate` (an npm package) on the path or in node_modules and is left out, with a
# notice, where it is missing. CHECK_PAGE_STRICT=1 makes both a failure.
#
# usage: scripts/check-page.sh PAGE.html [FOLDER FOR PICTURES]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "page: $*" >&2
    exit 1
}

missing() {
    [ "${CHECK_PAGE_STRICT:-0}" = 1 ] && fail "$* is missing"
    echo "page: $* is missing, so its part is not checked" >&2
}

[ $# -ge 1 ] && [ -f "$1" ] || fail "give the HTML file: scripts/check-page.sh PAGE.html"
page=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
pictures=${2:-$scratch/pictures}
mkdir -p "$pictures"
pictures=$(realpath "$pictures")

validator=()
if command -v html-validate >/dev/null; then
    validator=(html-validate)
elif [ -x node_modules/.bin/html-validate ]; then
    validator=(node_modules/.bin/html-validate)
fi
if [ ${#validator[@]} -gt 0 ]; then
    "${validator[@]}" --config "$here/html-validate.json" "$page" || fail "the HTML is not valid"
else
    missing html-validate
fi

browser=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -z "$browser" ]; then
    missing "Chromium"
    exit 77
fi

chromium() {
    "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$scratch/profile" --allow-file-access-from-files \
        --enable-logging=stderr "$@" 2>>"$scratch/log"
}

# A frame as wide as a phone, and a script outside the page that measures it. Tables scroll in
# their own boxes, so what is inside of one may be wider than the screen.
sed "s|@PAGE@|file://$page|" "$here/check-page.html" >"$scratch/frame.html"
chromium --virtual-time-budget=10000 --dump-dom "file://$scratch/frame.html" >"$scratch/dom.html"
verdict=$(sed -n 's|.*<pre id="verdict">\(.*\)</pre>.*|\1|p' "$scratch/dom.html")
[ "$verdict" = "fits" ] || fail "at 400 px: ${verdict:-the frame was not measured}"

for theme in light dark; do
    for width in 400 1280; do
        flags=()
        [ "$theme" = dark ] && flags=(--blink-settings=preferredColorScheme=0)
        [ "$theme" = light ] && flags=(--blink-settings=preferredColorScheme=1)
        chromium "${flags[@]}" --window-size="$width,2400" \
            --screenshot="$pictures/$theme-$width.png" "file://$page"
        [ -s "$pictures/$theme-$width.png" ] || fail "no picture of $theme at $width px"
    done
done

if grep -F ':CONSOLE' "$scratch/log" >&2; then
    fail "the browser's console is not empty"
fi
echo "page: $(basename "$page") is fine; pictures are in $pictures"
