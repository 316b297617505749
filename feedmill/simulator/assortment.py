"""What the simulated shop sells: invented brands, product lines, names, colours and sizes. Words only, no chance.

Every character exists in cp1252 too, so that a file can be written in the old encoding as well.
"""

from dataclasses import dataclass

RETAILER = "Northfork Outfitters"
SITE = "https://www.northfork-outfitters.example"
IMAGES = "https://images.northfork-outfitters.example"


@dataclass(frozen=True, slots=True)
class Brand:
    name: str
    gtin_prefix: str  # three digits; empty for a maker too small to have bought codes


@dataclass(frozen=True, slots=True)
class Line:
    """A kind of product: what it is called, where it hangs, what it costs in whole dollars."""

    code: str
    noun: str
    category: str
    cheapest: int
    dearest: int
    sizes: tuple[str, ...]
    audiences: tuple[str, ...] = ("",)


BRANDS = (
    Brand("Tarnholt", "041"),
    Brand("Vell & Sørby", "070"),
    Brand("Calderoak", "812"),
    Brand("Fjällhem", "733"),
    Brand("Pinebarrow", "008"),
    Brand("Oswin & Hale", "691"),
    Brand("Brumeval", "786"),
    Brand("Hollin Creek Mfg., Inc.", "095"),
    Brand("Larkmoor", "840"),
    Brand("Grünmark", "617"),
    Brand("Ketterholm", "883"),
    Brand("Ondarrix", "764"),
    Brand("Wexcombe", "029"),
    Brand("Señal Norte", "750"),
    Brand("Stonewrenn", "665"),
    Brand("Drumlin Bros.", "193"),
    Brand("Kettle & Thorn", ""),
    Brand("Little Amberjack Co.", "856"),
)

_ADULTS = ("Men's", "Women's")
_EVERYONE = ("Men's", "Women's", "Kids'")
_SHOES = ("7", "7.5", "8", "8.5", "9", "9.5", "10", "10.5", "11", "11.5", "12", "13")
_CLOTHES = ("XS", "S", "M", "L", "XL", "XXL")
_HATS = ("S/M", "L/XL")

LINES = (
    Line("TRS", "Trail Running Shoe", "Footwear > Trail Running Shoes", 90, 180, _SHOES, _ADULTS),
    Line("HKB", "Waterproof Hiking Boot", "Footwear > Hiking Boots", 120, 290, _SHOES, _ADULTS),
    Line("SND", "Sport Sandal", "Footwear > Sandals", 45, 130, _SHOES, _EVERYONE),
    Line("RNJ", "3-Layer Rain Jacket", "Clothing > Jackets > Rain", 90, 420, _CLOTHES, _EVERYONE),
    Line("DWN", "Hooded Down Jacket", "Clothing > Jackets > Insulated", 150, 480, _CLOTHES, _ADULTS),
    Line("FLC", "½-Zip Fleece", "Clothing > Fleece", 45, 140, _CLOTHES, _EVERYONE),
    Line("BSL", "Merino Base Layer Top", "Clothing > Base Layers", 50, 130, _CLOTHES, _EVERYONE),
    Line("PNT", "Convertible Hiking Pants", "Clothing > Pants", 60, 150, ("28", "30", "32", "34", "36", "38"), _ADULTS),
    Line("SOC", "Cushioned Wool Socks, 2-Pack", "Clothing > Socks", 15, 38, ("S", "M", "L"), _EVERYONE),
    Line("CAP", "Wide-Brim Sun Hat", "Accessories > Hats", 22, 65, _HATS),
    Line("GLV", "Touchscreen Gloves", "Accessories > Gloves", 20, 85, _CLOTHES, _ADULTS),
    Line("BPK", "Backpacking Pack", "Packs > Backpacking", 140, 390, ("38 L", "45 L", "55 L", "65 L")),
    Line("DPK", "Daypack", "Packs > Daypacks", 40, 150, ("12 L", "18 L", "22 L")),
    Line("TNT", "Freestanding Tent", "Camping > Tents", 150, 690, ("1-Person", "2-Person", "3-Person", "4-Person")),
    Line("SLB", "Sleeping Bag, 20°F/-7°C", "Camping > Sleeping Bags", 90, 560, ("Regular", "Long", "Wide, Long")),
    Line("PAD", "Insulated Sleeping Pad", "Camping > Sleeping Pads", 60, 240, ('20" x 72"', '25" x 72"', '25" x 77"')),
    Line("GRD", "Cast-Iron Camp Griddle", "Camping > Cooking & Kitchen", 25, 95, ('12"', '14"', '16"', '18"')),
    Line("STV", "Canister Stove & Windscreen", "Camping > Cooking & Kitchen", 35, 190, ("One Size",)),
    Line("BTL", "Vacuum Bottle", "Camping > Hydration", 18, 60, ("18 oz", "21 oz", "32 oz", "40 oz")),
    Line("LMP", "Rechargeable Headlamp, 400 Lumens", "Camping > Lighting", 25, 110, ("One Size",)),
    Line("POL", "Folding Trekking Poles (Pair)", "Hiking > Poles", 60, 220, ("110 cm", "120 cm", "130 cm")),
    Line("ROP", "Dry-Treated Climbing Rope, 9.5 mm", "Climbing > Ropes", 120, 320, ("40 m", "60 m", "70 m", "80 m")),
    Line("HLM", "Climbing Helmet", "Climbing > Helmets", 55, 150, _HATS),
    Line("WHL", "Mountain Bike Wheel", "Cycling > Wheels", 110, 590, ('26"', '27.5"', '29"')),
    Line("PDL", "Carbon Kayak Paddle", "Paddling > Paddles", 90, 450, ("210 cm", "220 cm", "230 cm")),
    Line("ROD", "4-Piece Fly Rod", "Fishing > Fly Rods", 120, 690, ("8' 6\" 4wt", "9' 0\" 5wt", "9' 6\" 7wt")),
    Line("SKI", "All-Mountain Skis", "Snow > Skis", 320, 890, ("156 cm", "164 cm", "172 cm", "180 cm", "188 cm")),
    Line("GOG", "Snow Goggles w/ Spare Lens", "Snow > Goggles", 45, 240, ("One Size",)),
)

_NAMES = """
    Talus Cirque Moraine Couloir Bergschrund Arête Scree Tarn Drumlin Esker Fen Heath Kestrel Merlin Ptarmigan Dipper
    Ouzel Marten Stoat Lynx Ibex Chamois Juniper Larch Hemlock Sedge Bracken Gorse Névé Firn Sérac Föhn Mistral Zephyr
    Boreal Austral Meridian Solstice Vesper Ember Flint Slate Basalt Gneiss Mica Beacon Cairn Waypoint Portage Traverse
    Bivouac Col Piñon Mesa Arroyo Lagoon Estuary Delta Headwater Riffle Eddy Oxbow Glissade Belay
"""
_COLOURS = """
    Black, Slate Blue, Glacier, Moss, Burnt Orange, Café, Crème, Charcoal/Lime, Deep Teal, Fir Green, Graphite,
    Ice Blue, Khaki, Lava Red, Marigold, Midnight, Oatmeal, Plum, Rosé, Rust, Sage, Sand & Stone, Storm Gray, White
"""
NAMES = tuple(_NAMES.split())
COLOURS = tuple(colour.strip() for colour in _COLOURS.split(","))
EDITIONS = ("", "", "", " II", " III", " LT", " Pro", " Mid", " EVO", " 2.0", " Trail", " Alpine", " Dry™", " XT")
FEATURES = (
    "Made for long days on steep ground, and light enough to forget about.",
    'Reviewers call it "the one piece of gear I never leave behind."',
    "Recycled shell fabric, low-water dyeing, no PFAS.",
    "Weighs 14% less than last year's version without giving up durability.",
    "Tested from sea level to 4,000 m; guaranteed for 5 years.",
    "Packs into its own pocket, so it fits in the smallest corner of a bag.",
    "Reinforced at every point of wear, with spare parts available.",
    "Easy to clean: cold water, mild soap & a soft brush.",
    "Adjusts quickly with gloves on, even in the wet.",
    "Fits true to size — if you are between two, take the larger one.",
)
