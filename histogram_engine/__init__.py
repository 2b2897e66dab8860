"""Tree growth by the joint step: the native engine and its boosting loop."""
